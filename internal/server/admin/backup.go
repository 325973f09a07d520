package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

const (
	backupPath = "/backup"
	jsonType   = "application/json"
	maxAnswer  = 16 << 10
)

// Backup makes a copy of the node's database and tells in which directory.
type Backup func() (directory string, err error)

type made struct {
	Directory string `json:"directory,omitempty"`
	Error     string `json:"error,omitempty"`
}

// serveBackup makes a backup. The request must say that it is JSON: a form on a web page cannot.
func serveBackup(backup Backup) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", jsonType)
		code, answer := http.StatusOK, made{}
		if r.Header.Get("Content-Type") != jsonType {
			code, answer.Error = http.StatusUnsupportedMediaType, "the request must be of type "+jsonType
		} else if directory, err := backup(); err != nil {
			code, answer.Error = http.StatusConflict, err.Error()
		} else {
			answer.Directory = directory
		}
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(answer) // a client that has gone away is no fault
	}
}

// AskBackup has the node of an admin address make a backup, and tells in which directory of its machine.
func AskBackup(ctx context.Context, url string) (directory string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(url, "/")+backupPath, nil)
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", jsonType)
	response, err := http.DefaultClient.Do(r)
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
		return "", fmt.Errorf("the node answers %s", response.Status)
	case answer.Error != "":
		return "", errors.New(answer.Error)
	}
	return answer.Directory, nil
}
