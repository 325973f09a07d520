package wasm

import (
	"errors"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// hold returns a module's code, marks it as the last used, and keeps it open until it is released.
func (e *Engine) hold(hash types.CodeHash, module *vm.Module) (*code, error) {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil, errClosed
	}
	if element, ok := e.codes[hash]; ok {
		e.recent.MoveToFront(element)
		c := element.Value.(*code)
		c.users++
		e.mu.Unlock()
		return c, nil
	}
	c := &code{engine: e, hash: hash, module: module, users: 1, size: codeSize(module)}
	e.codes[hash] = e.recent.PushFront(c)
	e.bytes += c.size
	leftovers := e.shed()
	e.mu.Unlock()
	return c, leftovers.close()
}

// release undoes hold. The last release of an evicted code closes it.
func (e *Engine) release(c *code) error {
	e.mu.Lock()
	c.users--
	last := c.users == 0 && c.evicted
	e.mu.Unlock()
	if last {
		return c.close()
	}
	return nil
}

// take returns an instance in its initial state; if fresh is set, one that never ran.
func (e *Engine) take(hash types.CodeHash, module *vm.Module, fresh bool) (*instance, error) {
	c, err := e.hold(hash, module)
	if err != nil {
		return nil, err
	}
	i, err := c.pick(fresh)
	if err != nil {
		return nil, errors.Join(err, e.release(c))
	}
	if err := i.lend(); err != nil {
		return nil, errors.Join(err, e.put(i, false))
	}
	return i, nil
}

// pick returns an idle instance or creates one.
func (c *code) pick(fresh bool) (*instance, error) {
	e := c.engine
	e.mu.Lock()
	if n := len(c.idle); n > 0 && !fresh {
		i := c.idle[n-1]
		c.idle[n-1], c.idle = nil, c.idle[:n-1]
		e.idle--
		e.bytes -= i.size
		e.mu.Unlock()
		e.reused.Add(1)
		return i, nil
	}
	e.mu.Unlock()
	return c.instantiate()
}

// put takes an instance back after its call, and closes it unless it may run again.
func (e *Engine) put(i *instance, again bool) error {
	c := i.code
	restored := again && i.restore()
	i.giveBack()
	if !restored {
		e.discarded.Add(1)
		return errors.Join(i.close(), e.release(c))
	}
	e.mu.Lock()
	var leftovers leftovers
	if c.evicted || e.closed {
		leftovers.instances = append(leftovers.instances, i)
	} else {
		c.idle = append(c.idle, i)
		e.idle++
		e.bytes += i.size
		if len(c.idle) > e.opts.IdlePerCode {
			e.drop(c, &leftovers)
		}
		if more := e.shed(); !more.empty() {
			leftovers.add(more)
		}
	}
	c.users--
	if c.evicted && c.users == 0 {
		leftovers.codes = append(leftovers.codes, c)
	}
	e.mu.Unlock()
	return leftovers.close()
}

// leftovers are closed after the lock is released.
type leftovers struct {
	instances []*instance
	codes     []*code
}

func (l *leftovers) empty() bool { return len(l.instances)+len(l.codes) == 0 }

func (l *leftovers) add(more leftovers) {
	l.instances, l.codes = append(l.instances, more.instances...), append(l.codes, more.codes...)
}

func (l *leftovers) close() (err error) {
	for _, i := range l.instances {
		i.code.engine.discarded.Add(1)
		err = errors.Join(err, i.close())
	}
	for _, c := range l.codes {
		err = errors.Join(err, c.close())
	}
	return err
}

// shed enforces the bounds on memory. It drops the idle instances of the least recently used module, then the module
// itself, unless it is the most recently used one.
func (e *Engine) shed() (l leftovers) {
	for element := e.recent.Back(); element != nil; {
		full := e.bytes > e.opts.Bytes || e.recent.Len() > e.opts.Codes
		if !full && e.idle <= e.opts.Idle {
			break
		}
		c := element.Value.(*code)
		switch {
		case len(c.idle) > 0:
			e.drop(c, &l)
		case full && element != e.recent.Front():
			element = element.Prev()
			e.evict(c, &l)
		default:
			element = element.Prev()
		}
	}
	return l
}

// drop removes the least recently used idle instance of a code.
func (e *Engine) drop(c *code, l *leftovers) {
	i := c.idle[0]
	c.idle = append(c.idle[:0], c.idle[1:]...)
	e.idle--
	e.bytes -= i.size
	l.instances = append(l.instances, i)
}

// evict removes a code. It is closed now, or by its last user.
func (e *Engine) evict(c *code, l *leftovers) {
	for len(c.idle) > 0 {
		e.drop(c, l)
	}
	e.recent.Remove(e.codes[c.hash])
	delete(e.codes, c.hash)
	e.bytes -= c.size
	c.evicted = true
	if c.users == 0 {
		l.codes = append(l.codes, c)
	}
}
