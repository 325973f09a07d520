package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// profile writes a profile of the processor for most of a round, then an execution trace, and then a profile of the heap.
func (n *node) profile(ctx context.Context, s settings, round string) error {
	name := strings.NewReplacer(" × ", "-", " ", "-").Replace(round)
	const traced = 3 // seconds
	seconds := max(1, int(s.duration.Seconds())-1-traced)
	for _, p := range []struct{ kind, path string }{
		{"cpu", fmt.Sprintf("profile?seconds=%d", seconds)},
		{"trace", fmt.Sprintf("trace?seconds=%d", traced)},
		{"heap", "heap"},
	} {
		err := download(ctx, n.Admin+"/debug/pprof/"+p.path, n.Token, filepath.Join(s.profiles, name+"."+p.kind))
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// download writes an answer of the admin address to a file. The URL needs the token that tokenFile has.
func download(ctx context.Context, url, tokenFile, file string) (err error) {
	token, err := os.ReadFile(tokenFile)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // all that matters was read
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, response.Body)
	return errors.Join(err, out.Close())
}
