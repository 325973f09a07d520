package aside

import "time"

// A wait is firstWait long, each further one twice as long as the one before, up to maxWait. Who has overrun nothing
// for maxWait after a wait begins anew.
const (
	firstWait = time.Minute
	maxWait   = 24 * time.Hour
)

// maxWaits bounds who is remembered of a kind: who waits shortest from now on makes room.
const maxWaits = 4_096

// wait is how long somebody waits, and how often there was reason to.
type wait struct {
	Until time.Time `json:"until"`
	Times uint      `json:"times"`
}

// waits are those who wait, or did a short time ago.
type waits[K comparable] map[K]wait

// extend makes somebody wait, longer than the last time, and returns how long.
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

// left is how long somebody waits still. A clock that was set back makes nobody wait longer than anybody may.
func (w waits[K]) left(who K, now time.Time) time.Duration {
	return min(w[who].Until.Sub(now), maxWait)
}

// forget forgets those whose wait has been over for long, and the one that ends first if there are too many.
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
