package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

const backupPath = "/backup"

// Backup makes a copy of the node's database and returns its directory.
type Backup func() (directory string, err error)

type made struct {
	Directory string `json:"directory,omitempty"`
	Error     string `json:"error,omitempty"`
}

// serveBackup returns a handler that makes a backup.
func serveBackup(backup Backup) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		code, answer := http.StatusOK, made{}
		directory, err := backup()
		if answer.Directory = directory; err != nil {
			code, answer = http.StatusConflict, made{Error: err.Error()}
		}
		w.Header().Set("Content-Type", JSON)
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(answer) // fails only if the client has gone
	}
}

// Backup makes the node create a backup, and returns its directory on the node's machine.
func (c Client) Backup(ctx context.Context) (directory string, err error) {
	response, err := c.Do(ctx, http.MethodPost, backupPath, JSON, nil)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }() // it was read
	content, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return "", err
	}
	var answer made
	switch err := json.Unmarshal(content, &answer); {
	case err != nil || answer.Error == "" && response.StatusCode != http.StatusOK:
		return "", fmt.Errorf("the node answered %s", response.Status)
	case answer.Error != "":
		return "", errors.New(answer.Error)
	}
	return answer.Directory, nil
}
