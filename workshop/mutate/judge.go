package main

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// judge is the independent implementation: a process that answers each line with a line.
type judge struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

func startJudge(script string) (*judge, error) {
	j := &judge{process: exec.Command("python3", strings.Fields(script)...)}
	j.process.Stderr = os.Stderr
	in, err := j.process.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := j.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	j.in, j.out = in, bufio.NewReaderSize(out, 1<<16)
	return j, j.process.Start()
}

func (j *judge) close() error {
	if err := j.in.Close(); err != nil {
		return err
	}
	return j.process.Wait()
}

// ask sends a command and its arguments, bytes as hex, and returns the answer.
func (j *judge) ask(command string, arguments ...any) (string, error) {
	answers, err := j.askAll(command, [][]any{arguments})
	if err != nil {
		return "", err
	}
	return answers[0], nil
}

// askAll sends a command once for each argument, and returns the answers. All of them together must fit the pipe.
func (j *judge) askAll(command string, each [][]any) ([]string, error) {
	var lines strings.Builder
	for _, arguments := range each {
		lines.WriteString(command)
		for _, argument := range arguments {
			switch a := argument.(type) {
			case []byte:
				if len(a) == 0 {
					lines.WriteString(" -")
				} else {
					lines.WriteString(" " + hex.EncodeToString(a))
				}
			default:
				fmt.Fprintf(&lines, " %v", a)
			}
		}
		lines.WriteByte('\n')
	}
	if _, err := io.WriteString(j.in, lines.String()); err != nil {
		return nil, fmt.Errorf("ask the judge: %w", err)
	}
	answers := make([]string, len(each))
	for i := range answers {
		answer, err := j.out.ReadString('\n')
		if err != nil {
			return nil, fmt.Errorf("the judge's answer to %.2000s: %w", lines.String(), err)
		}
		answers[i] = strings.TrimSuffix(answer, "\n")
	}
	return answers, nil
}
