// Package machine is what a process asks of the machine that it runs on: the processor's kernels, the disk, open files
// and its own priority.
package machine
