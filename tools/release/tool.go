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

// asTool is the argument that makes this program act as go build's -toolexec wrapper.
const asTool = "toolexec"

// runTool runs a compiler tool and returns its exit code. It makes the assembler trim the module directory from file
// names: with go build -trimpath alone, files that assembly includes keep this machine's paths.
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

// printVersion reports a different assembler version, since go build would otherwise use cached output of the unwrapped
// one.
func printVersion(tool string) int {
	version, err := output(exec.Command(tool, "-V=full"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(version + " without the directory of modules")
	return 0
}
