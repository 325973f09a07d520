package quarantine

import "time"

// Waits double from firstWait up to maxWait. After maxWait without an overrun they begin with firstWait again.
const (
	firstWait = time.Minute
	maxWait   = 24 * time.Hour
)

// maxWaits bounds the entries of each kind. The wait that ends first makes room.
const maxWaits = 4_096

// wait is the end of a wait, and the number of waits so far.
type wait struct {
	Until time.Time `json:"until"`
	Times uint      `json:"times"`
}

// waits has current and recent waits.
type waits[K comparable] map[K]wait

// extend starts a wait, longer than the last one, and returns its length.
func (w waits[K]) extend(who K, now time.Time) time.Duration {
	last, there := w[who]
	if !there {
		w.forget(now)
	}
	length := firstWait
	for range last.Times {
		length = min(2*length, maxWait)
	}
	w[who] = wait{now.Add(length).UTC(), last.Times + 1}
	return length
}

// left returns the rest of a wait, at most maxWait even if the clock was set back.
func (w waits[K]) left(who K, now time.Time) time.Duration {
	return min(w[who].Until.Sub(now), maxWait)
}

// forget removes waits that have long been over, and the one that ends first if there are too many.
func (w waits[K]) forget(now time.Time) {
	var first K
	for who, x := range w {
		if now.Sub(x.Until) >= maxWait {
			delete(w, who)
			continue
		}
		if best, ok := w[first]; !ok || x.Until.Before(best.Until) {
			first = who
		}
	}
	if len(w) >= maxWaits {
		delete(w, first)
	}
}

func (w waits[K]) count(now time.Time) (waiting int) {
	for who := range w {
		if w.left(who, now) > 0 {
			waiting++
		}
	}
	return waiting
}
