package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// asTool is the argument with which this program stands between go build and its tools.
const asTool = "toolexec"

// runTool runs a tool of the compiler and returns its exit code. The assembler is told to take the directory of the
// modules out of file names. go build -trimpath alone leaves those of files that assembly includes as they are on this
// machine.
func runTool(tool string, args []string) int {
	command := exec.Command(tool, args...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	if strings.TrimSuffix(filepath.Base(tool), ".exe") == "asm" {
		if slices.Equal(args, []string{"-V=full"}) {
			return printVersion(tool)
		}
		modules, err := output(exec.Command("go", "env", "GOMODCACHE"))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		for i, arg := range args {
			if i > 0 && args[i-1] == "-trimpath" {
				command.Args[1+i] = arg + ";" + modules + "=>"
			}
		}
	}
	err := command.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return exit.ExitCode()
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// printVersion says that this is another assembler, for go build takes from its cache what the same one made.
func printVersion(tool string) int {
	version, err := output(exec.Command(tool, "-V=full"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(version + " without the directory of modules")
	return 0
}
