// Package machine queries and configures the machine and the process: the processor's kernels, the disk, the limit of
// open files, signals and the process's priority.
package machine
