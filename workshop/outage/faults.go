package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	faultRate  = 300                    // transfers per second in addition to the callers
	calmTime   = 2 * time.Second        // greatest pause between faults
	longest    = 10 * time.Second       // greatest duration of a fault
	shortest   = 100 * time.Millisecond // least duration of a fault
	diskBytes  = 2 << 30
	slowWrites = 256 << 10 // bytes per synced write, by each of slowness writers on a slow disk
	slowness   = 4

	wrongByLittle = 10 * time.Second // error of a clock; half of it makes a leader transfer its leadership
	wrongByFar    = time.Hour
)

// faults disturbs the members at random while callers use a contract, and then checks that the results are
// linearizable.
func (w *world) faults(ctx context.Context) error {
	r, err := w.deploy(ctx)
	if err != nil {
		return err
	}
	counts := make(map[string]int)
	err = w.under(ctx, w.load, faultRate, 1, func(ctx context.Context) error {
		using, stop := context.WithTimeout(ctx, w.faultTime)
		defer stop()
		errs := make([]error, callerCount)
		var callers sync.WaitGroup
		for i := range callerCount {
			callers.Go(func() { errs[i] = r.use(using, i) })
		}
		err := w.disturb(using, counts)
		callers.Wait()
		return errors.Join(append(errs, err)...)
	})
	var told []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		told = append(told, fmt.Sprintf("%d × %s", counts[name], name))
	}
	w.print("| faults for %s, beside %.0f transfers a second | %s |", w.faultTime, w.achieved, strings.Join(told, ", "))
	return errors.Join(err, r.check(), w.check(ctx))
}

// fault is a fault in progress, with the function that ends it.
type fault struct {
	name string
	do   func(w *world, ctx context.Context, m, other *member) (end func() error, err error)
}

var kinds = []fault{
	{"kill -9", func(w *world, ctx context.Context, m, _ *member) (func() error, error) {
		m.kill()
		return func() error { return w.start(ctx, m) }, nil
	}},
	{"SIGSTOP", func(_ *world, _ context.Context, m, _ *member) (func() error, error) {
		return func() error { return m.process.Signal(syscall.SIGCONT) }, m.process.Signal(syscall.SIGSTOP)
	}},
	{"cut", func(_ *world, _ context.Context, m, _ *member) (func() error, error) {
		return func() error { return heal(m.number) }, cut(m.number)
	}},
	{"one-way cut", func(_ *world, _ context.Context, m, other *member) (func() error, error) {
		return func() error { return unmute(m.number, other.number) }, mute(m.number, other.number)
	}},
	{"slow disk", func(_ *world, _ context.Context, m, _ *member) (func() error, error) { return slow(m), nil }},
	{"full disk", func(w *world, ctx context.Context, m, _ *member) (func() error, error) { return w.full(ctx, m) }},
	{"wrong clock", func(w *world, _ context.Context, m, _ *member) (func() error, error) {
		return w.wrongClock(m)
	}},
}

// disturb causes faults, occasionally two at a time, until ctx ends, and then ends them all.
func (w *world) disturb(ctx context.Context, counts map[string]int) error {
	whole := context.WithoutCancel(ctx) // the end of ctx must not prevent a fault from ending
	for ctx.Err() == nil {
		var ends []func() error
		all := w.all()
		w.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		// Two faults at a time are of different kinds, so that two of three clocks are right.
		for i, k := range w.random.Perm(len(kinds))[:1+w.random.IntN(2)] {
			kind := kinds[k]
			end, err := kind.do(w, whole, all[i], all[i+1])
			if err != nil {
				return fmt.Errorf("%s of %s: %w", kind.name, all[i].name, err)
			}
			counts[kind.name]++
			ends = append(ends, end)
		}
		lasts := shortest + time.Duration(w.random.Int64N(int64(longest-shortest)))
		_ = wait(ctx, lasts) // if interrupted, the fault ends early
		for _, end := range ends {
			if err := end(); err != nil {
				return err
			}
		}
		_ = wait(ctx, time.Duration(w.random.Int64N(int64(calmTime))))
	}
	for _, m := range w.all() {
		if err := w.ready(whole, m); err != nil {
			return err
		}
	}
	return nil
}

// wrongClock sets a member's clock wrong: by seconds or, as often, by up to an hour.
func (w *world) wrongClock(m *member) (end func() error, err error) {
	most := int64(wrongByLittle)
	if w.random.IntN(2) == 0 {
		most = int64(wrongByFar)
	}
	wrong := time.Duration(w.random.Int64N(2*most) - most)
	return func() error { return m.process.SetClock(0) }, m.process.SetClock(wrong)
}

// slow writes to a member's disk and syncs it, repeatedly, until end is called.
func slow(m *member) (end func() error) {
	ctx, stop := context.WithCancel(context.Background())
	errs := make([]error, slowness)
	var writing sync.WaitGroup
	for i := range slowness {
		writing.Go(func() {
			path := filepath.Join(filepath.Dir(m.dir), fmt.Sprintf("slow%d", i))
			f, err := os.Create(path)
			for content := make([]byte, slowWrites); err == nil && ctx.Err() == nil; {
				if _, err = f.WriteAt(content, 0); err == nil {
					err = f.Sync()
				}
			}
			if f != nil {
				err = errors.Join(err, f.Close(), os.Remove(path))
			}
			errs[i] = err
		})
	}
	return func() error {
		stop()
		writing.Wait()
		return errors.Join(errs...)
	}
}

// full fills a member's disk, which makes the member stop. end frees the space and starts it again.
func (w *world) full(ctx context.Context, m *member) (end func() error, err error) {
	path := filepath.Join(filepath.Dir(m.dir), "full")
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	content := make([]byte, 1<<20)
	for err == nil {
		_, err = f.Write(content)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		return nil, errors.Join(err, f.Close())
	}
	return func() error {
		if err := errors.Join(f.Close(), os.Remove(path)); err != nil {
			return err
		}
		select {
		case <-m.process.Ended():
		default: // it wrote nothing meanwhile
			m.kill()
		}
		return w.start(ctx, m)
	}, nil
}

// mount mounts a new file system on a directory.
func (c *cluster) mount(dir string) error {
	image := dir + ".img"
	if err := errors.Join(os.WriteFile(image, nil, 0o600), os.Truncate(image, diskBytes)); err != nil {
		return err
	}
	for _, command := range [][]string{{"mkfs.ext4", "-q", image}, {"mount", "-o", "loop", image, dir}} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w, %s", command[0], err, out)
		}
	}
	c.mounted = append(c.mounted, dir)
	return nil
}

// unmount unmounts the members' disks.
func (c *cluster) unmount() (err error) {
	for _, dir := range c.mounted {
		if out, failed := exec.Command("umount", dir).CombinedOutput(); failed != nil {
			err = errors.Join(err, fmt.Errorf("umount %s: %w, %s", dir, failed, out))
		}
	}
	return err
}
