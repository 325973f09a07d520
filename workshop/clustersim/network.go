package clustersim

import (
	"time"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/cairn-chain/cairn/internal/engine/cluster"
)

// network carries messages between machines, identified by index.
type network struct {
	simulation *simulation
	cut        map[[2]int]bool // from, to
	last       map[lane]time.Duration
	slow       time.Duration // greatest latency of a message
	loses      int           // percentage of lost messages
	quiet      bool          // the faults have ended, and no message may be refused for its order
}

// lane is a connection, which preserves the order of messages.
type lane struct {
	from, to int
	of       cluster.Lane
}

const calm = 3 * time.Millisecond

func newNetwork(w *simulation) network {
	return network{simulation: w, cut: make(map[[2]int]bool), last: make(map[lane]time.Duration), slow: calm}
}

// travel returns the latency of a message, and whether it arrives.
func (n *network) travel(from, to int) (time.Duration, bool) {
	d := 50*time.Microsecond + n.simulation.upTo(n.slow)
	if n.cut[[2]int{from, to}] || n.simulation.random.IntN(100) < n.loses {
		n.simulation.report.Lost++
		return d, false
	}
	return d, true
}

// send sends a raft message.
func (n *network) send(from *machine, message *raftpb.Message, delay time.Duration) {
	w := n.simulation
	to := w.machineOf(message.GetTo())
	if to == nil {
		return
	}
	w.promises(message)
	d, arrives := n.travel(from.index, to.index)
	if !arrives {
		return
	}
	l := lane{from.index, to.index, cluster.LaneOf(message)}
	at := max(w.now+delay+d, n.last[l]+time.Microsecond)
	n.last[l] = at
	if n.quiet && message.GetType() == raftpb.MessageType_MsgAppResp && message.GetReject() {
		w.report.Refused++
	}
	message = proto.Clone(message).(*raftpb.Message)
	arrive := func() {
		if to.process != nil {
			to.process.step(cluster.Received(message))
		}
	}
	w.after(at-w.now, arrive)
	if w.faulty && l.of == cluster.Pulse && w.chance(2) { // a duplicate message
		w.after(at-w.now+w.upTo(time.Second), arrive)
	}
}

// callTime is the timeout of a call.
const callTime = 5 * time.Second

// call asks another machine, whose process may meanwhile have ended. done is called once.
func call[T any](p *process, to uint64, ask func(*process, func(T, error)), done func(T, error) cluster.Event) {
	w, over := p.simulation, false
	if p.dead {
		return
	}
	finish := func(answer T, err error) {
		if !over {
			over = true
			p.step(done(answer, err))
		}
	}
	var none T
	w.after(callTime, func() { finish(none, errLost) })
	other := w.machineOf(to)
	if other == nil {
		return
	}
	d, arrives := w.network.travel(p.index, other.index)
	if !arrives {
		return
	}
	w.after(d, func() {
		if other.process == nil {
			w.after(d, func() { finish(none, errLost) }) // connection refused
			return
		}
		ask(other.process, func(answer T, err error) {
			if d, arrives := w.network.travel(other.index, p.index); arrives {
				w.after(d, func() { finish(answer, err) })
			}
		})
	})
}
