package session

import (
	"fmt"
	"io"
	"os"
	"strings"
)

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
