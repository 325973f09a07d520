package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/terminal"
)

// Asker asks the user at the terminal. It fails with terminal.ErrNone without a terminal.
type Asker interface {
	Secret(ctx context.Context, question string) (string, error)
	Line(ctx context.Context, question string) (string, error)
}

// Password returns the password of an existing key.
func (s *Session) Password(ctx context.Context, name string) (string, error) {
	if s.Settings.PasswordFile != "" {
		password, err := ReadSecretFile(s.Settings.PasswordFile)
		return password, output.Usage(err)
	}
	password, err := s.Asker.Secret(ctx, "Password of "+name+": ")
	return password, NoTerminal(err, "--password-file")
}

// NewPassword returns the password for a new key.
func (s *Session) NewPassword(ctx context.Context, name string) (string, error) {
	if s.Settings.PasswordFile != "" {
		return s.Password(ctx, name)
	}
	password, err := s.Asker.Secret(ctx, "New password for "+name+": ")
	if err != nil {
		return "", NoTerminal(err, "--password-file")
	}
	again, err := s.Asker.Secret(ctx, "Repeat the password: ")
	if err != nil {
		return "", err
	}
	if again != password {
		return "", errors.New("the two passwords differ")
	}
	return password, nil
}

// NoTerminal turns the lack of a terminal into a usage error that names the flag to use instead.
func NoTerminal(err error, flag string) error {
	if errors.Is(err, terminal.ErrNone) {
		return output.Usage(fmt.Errorf("%w: give %s", err, flag))
	}
	return err
}

// Confirm makes the user type the name as a confirmation, unless yes is set.
func (s *Session) Confirm(ctx context.Context, yes bool, name, question string) error {
	return confirm(ctx, s.Asker, yes, name, question)
}

// Confirm makes the user at a command's terminal type a word as a confirmation, unless yes is set.
func Confirm(command *cobra.Command, yes bool, word, question string) error {
	return confirm(command.Context(), terminal.New(command.InOrStdin(), command.ErrOrStderr()), yes, word, question)
}

func confirm(ctx context.Context, at Asker, yes bool, name, question string) error {
	if yes {
		return nil
	}
	answer, err := at.Line(ctx, question+" Type "+name+" to go on: ")
	if err != nil {
		return NoTerminal(err, "--yes")
	}
	if answer != name {
		return errors.New("not confirmed, nothing changed")
	}
	return nil
}

// AskNumber asks the user for a number. Without a terminal, the error names the flag to use instead.
func AskNumber(command *cobra.Command, question, flag string) (uint64, error) {
	answer, err := terminal.New(command.InOrStdin(), command.ErrOrStderr()).Line(command.Context(), question)
	if err != nil {
		return 0, NoTerminal(err, flag)
	}
	number, err := strconv.ParseUint(strings.TrimSpace(answer), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("not confirmed, nothing changed: %q is not a number", answer)
	}
	return number, nil
}

// ReadSecretFile returns the first line of a small file.
func ReadSecretFile(path string) (string, error) {
	text, err := ReadSecrets(path)
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(text, "\n")
	if line = strings.TrimSuffix(line, "\r"); line == "" {
		return "", fmt.Errorf("the first line of %s is empty", path)
	}
	return line, nil
}

// ReadSecrets reads a whole file of secrets.
func ReadSecrets(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, MaxSecretFileBytes+1))
	if err != nil {
		return "", err
	}
	if len(text) > MaxSecretFileBytes {
		return "", fmt.Errorf("%s is longer than %d bytes", path, MaxSecretFileBytes)
	}
	return string(text), nil
}
