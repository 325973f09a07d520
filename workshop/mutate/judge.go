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

// judge is the independent judge: a process that answers a line for each line.
type judge struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

func startJudge(script string) (*judge, error) {
	j := &judge{process: exec.Command("python3", script)}
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
	var line strings.Builder
	line.WriteString(command)
	for _, argument := range arguments {
		switch a := argument.(type) {
		case []byte:
			if len(a) == 0 {
				line.WriteString(" -")
			} else {
				line.WriteString(" " + hex.EncodeToString(a))
			}
		default:
			fmt.Fprintf(&line, " %v", a)
		}
	}
	line.WriteByte('\n')
	if _, err := io.WriteString(j.in, line.String()); err != nil {
		return "", fmt.Errorf("ask the judge: %w", err)
	}
	answer, err := j.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("the judge's answer to %.2000s: %w", line.String(), err)
	}
	return strings.TrimSuffix(answer, "\n"), nil
}
