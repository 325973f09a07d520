package submit

// Unsigned reports whether the flags say that nothing is signed here.
func (f *Flags) Unsigned() bool { return f.DryRun || f.Draft != "" }
