package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
)

// writeNPM packs the JavaScript packages: the SDK and the proof verifier. npm gives all files one time.
func (r *release) writeNPM(ctx context.Context) error {
	verifier := filepath.Join(r.work, "verifier")
	if err := r.steps(ctx, r.source, []string{"sh", "proof/wasm/build.sh", verifier}); err != nil {
		return err
	}
	sdk := filepath.Join(r.work, "sdk")
	if err := os.CopyFS(sdk, os.DirFS(filepath.Join(r.source, "sdk", "typescript"))); err != nil {
		return err
	}
	build := [][]string{
		{"npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"},
		{"npx", "tsc", "-p", "tsconfig.json"},
	}
	if err := r.steps(ctx, sdk, build...); err != nil {
		return err
	}
	for _, directory := range []string{verifier, sdk} {
		if err := copyFile(filepath.Join(r.source, "LICENSE"), filepath.Join(directory, "LICENSE")); err != nil {
			return err
		}
		pack := [][]string{
			{"npm", "version", r.version, "--no-git-tag-version", "--allow-same-version", "--silent"},
			{"npm", "pack", "--ignore-scripts", "--silent", "--pack-destination", r.out},
		}
		if err := r.steps(ctx, directory, pack...); err != nil {
			return err
		}
	}
	return nil
}

// steps runs commands in a directory, in order.
func (r *release) steps(ctx context.Context, directory string, commands ...[]string) error {
	for _, args := range commands {
		command := exec.CommandContext(ctx, args[0], args[1:]...)
		command.Dir = directory
		if _, err := output(command); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644)
}
