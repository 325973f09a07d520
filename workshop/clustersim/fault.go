package clustersim

import (
	"errors"
	"slices"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/cluster"
	"github.com/cairn-chain/cairn/internal/storage/kv"
)

// Bugs of the world; those of members are planted into their code.
const (
	ExpiresByClock = "expires by the local clock"
	ReusesID       = "reuses an id with an empty disk"
)

// fault is what befalls the cluster, and how often beside the others.
type fault struct {
	weight int
	strike func(*world)
}

var faults = []fault{
	{10, func(w *world) { w.crashOne(w.chance(50)) }},
	{14, (*world).crashSoon},
	{2, (*world).crashAll},
	{10, (*world).disturb},
	{8, (*world).isolate},
	{6, (*world).cutOneWay},
	{5, (*world).jump},
	{5, (*world).slowDisk},
	{3, (*world).transfer},
	{3, (*world).replace},
	{2, (*world).grow},
}

// act lets something befall the cluster, and something else after a while.
func (w *world) act() {
	if !w.faulty {
		return
	}
	w.after(50*time.Millisecond+w.upTo(1500*time.Millisecond), w.act)
	sum := 0
	for _, f := range faults {
		sum += f.weight
	}
	n := w.random.IntN(sum)
	for _, f := range faults {
		if n -= f.weight; n < 0 {
			f.strike(w)
			return
		}
	}
}

// any is a machine that is up; nil if none is.
func (w *world) any() *machine {
	var up []*machine
	for _, m := range w.machines {
		if m.process != nil {
			up = append(up, m)
		}
	}
	if len(up) == 0 {
		return nil
	}
	return up[w.random.IntN(len(up))]
}

// crashOne ends a process now.
func (w *world) crashOne(power bool) {
	if m := w.any(); m != nil {
		m.process.die(power)
		m.process.bury()
	}
}

// crashSoon ends a process at one of the next moments of what it does.
func (w *world) crashSoon() {
	if m := w.any(); m != nil {
		m.process.dies, m.process.power = 1+w.random.IntN(40), w.chance(60)
	}
}

// crashAll takes the power from all machines at once.
func (w *world) crashAll() {
	w.note("the power fails")
	for _, m := range w.machines {
		if m.process != nil {
			m.process.die(true)
			m.process.bury()
		}
	}
}

// comeBack has a machine start after a while.
func (m *machine) comeBack() {
	m.after(50*time.Millisecond+m.upTo(4*time.Second), func() {
		if m.process == nil && !m.gone {
			if m.setup.Bug == ReusesID && m.chance(50) {
				m.disk = m.emptyDisk()
			}
			m.up()
		}
	})
}

// disturb has the network lose and delay messages for a while.
func (w *world) disturb() {
	w.network.loses = w.random.IntN(25)
	w.network.slow = calm
	if w.chance(50) {
		w.network.slow = w.upTo(2 * time.Second)
	}
	w.note("of a hundred messages %d are lost, others take up to %v", w.network.loses, w.network.slow)
	w.after(w.upTo(4*time.Second), func() { w.network.loses, w.network.slow = 0, calm })
}

// isolate cuts some machines off from the others.
func (w *world) isolate() {
	n := len(w.machines)
	side := make([]bool, n)
	for range 1 + w.random.IntN((n+1)/2) {
		side[w.random.IntN(n)] = true
	}
	w.note("the network is cut in two: %v", side)
	w.cutWhere(func(from, to int) bool { return side[from] != side[to] })
}

// cutOneWay lets no message from one machine arrive at another one.
func (w *world) cutOneWay() {
	from, to := w.random.IntN(len(w.machines)), w.random.IntN(len(w.machines))
	w.note("nothing goes from member %d to member %d", from, to)
	w.cutWhere(func(f, t int) bool { return f == from && t == to })
}

// cutWhere cuts the network for a while.
func (w *world) cutWhere(where func(from, to int) bool) {
	w.report.Cuts++
	var cut [][2]int
	for from := range w.machines {
		for to := range w.machines {
			if pair := [2]int{from, to}; where(from, to) && !w.network.cut[pair] {
				w.network.cut[pair] = true
				cut = append(cut, pair)
			}
		}
	}
	w.after(100*time.Millisecond+w.upTo(5*time.Second), func() {
		for _, pair := range cut {
			delete(w.network.cut, pair)
		}
	})
}

// jump sets a machine's clock wrong, and all others right: the middle of them is a right one.
func (w *world) jump() {
	for _, m := range w.machines {
		m.offset = 0
	}
	m := w.machines[w.random.IntN(len(w.machines))]
	m.offset = w.upTo(2*time.Hour) - time.Hour
	if w.chance(50) {
		m.offset = w.upTo(4*time.Second) - 2*time.Second
	}
	w.note("the clock of %s is wrong by %v", m.record.Name, m.offset)
}

// slowDisk makes a machine's disk slow for a while.
func (w *world) slowDisk() {
	m := w.machines[w.random.IntN(len(w.machines))]
	m.slow = w.upTo(600 * time.Millisecond)
	w.note("a sync of %s takes %v", m.record.Name, m.slow)
	w.after(w.upTo(5*time.Second), func() { m.slow = time.Millisecond })
}

// leader is the process that leads, as it knows; nil if none does.
func (w *world) leader() *process {
	for _, m := range w.machines {
		if m.process != nil && m.process.member.Status().Leads {
			return m.process
		}
	}
	return nil
}

// transfer hands leadership on.
func (w *world) transfer() {
	if l := w.leader(); l != nil {
		w.note("an operator asks %s to hand leadership on", l.record.Name)
		l.step(cluster.Transfer(0, func(error) {}))
	}
}

// busy tells whether the members are being changed.
func (w *world) busy() bool { return len(w.wishes) > 0 }

// replace loses a machine's disk for good. An operator removes its member, and adds another one.
func (w *world) replace() {
	m := w.any()
	if m == nil || w.busy() || !w.spares(m) {
		return
	}
	w.note("the disk of %s is lost", m.record.Name)
	m.gone = true
	m.process.die(true)
	m.process.bury()
	w.wish(func(l *process, tell func(error)) { l.step(cluster.Remove(m.record.ID, tell)) }, cluster.ErrUnknownMember)
	w.add()
}

// grow adds a member, or removes one that was.
func (w *world) grow() {
	if w.busy() {
		return
	}
	if len(w.members()) <= w.setup.Members {
		w.add()
		return
	}
	m := w.any()
	if m == nil || !w.spares(m) {
		return
	}
	w.note("an operator removes %s", m.record.Name)
	w.wish(func(l *process, tell func(error)) { l.step(cluster.Remove(m.record.ID, tell)) }, cluster.ErrUnknownMember)
	w.wish(func(_ *process, tell func(error)) { // it may not hear of it
		m.gone = true
		if m.process != nil {
			m.process.die(true)
			m.process.bury()
		}
		tell(nil)
	}, nil)
}

// spares tells whether a machine may be lost for good: the leader has all voters, and most of them know of all without
// that machine. With a change that only a lost leader knows to be decided, two voters are still two.
func (w *world) spares(lost *machine) bool {
	l := w.leader()
	if l == nil {
		return false
	}
	voters := w.votersOf(l)
	know := 0
	for _, m := range voters {
		if m != lost && m.process != nil && len(w.votersOf(m.process)) >= w.setup.Members {
			know++
		}
	}
	return len(voters) >= w.setup.Members && 2*know > len(voters)
}

// votersOf are the machines, of those that are not gone, that vote as far as a process knows.
func (w *world) votersOf(p *process) (voters []*machine) {
	for _, peer := range p.member.Status().Peers {
		if m := w.machineOf(peer.ID); peer.Voter && !m.gone {
			voters = append(voters, m)
		}
	}
	return voters
}

// members are the machines that are not gone.
func (w *world) members() []*machine {
	return slices.DeleteFunc(slices.Clone(w.machines), func(m *machine) bool { return m.gone })
}

// add brings a machine up and has the cluster take it.
func (w *world) add() {
	m := w.newMachine(false)
	w.note("an operator adds %s", m.record.Name)
	if err := m.create(nil); err != nil {
		w.violate(Running, "%s cannot be made: %v", m.record.Name, err)
		return
	}
	m.up()
	w.wish(func(l *process, tell func(error)) { l.step(cluster.Add(m.record, tell)) }, cluster.ErrMemberExists)
}

// wish is something that an operator asks the leader for until it is done. An error that says that it is done already
// is as none.
type wish struct {
	ask  func(l *process, tell func(error))
	done error
}

// wish asks for something, after what was asked for before.
func (w *world) wish(ask func(l *process, tell func(error)), done error) {
	w.wishes = append(w.wishes, wish{ask, done})
	if len(w.wishes) == 1 {
		w.insist()
	}
}

// insist asks the leader for the first wish, and again after a while.
func (w *world) insist() {
	if len(w.wishes) == 0 {
		return
	}
	first, told := w.wishes[0], false
	if l := w.leader(); l != nil {
		first.ask(l, func(err error) {
			if told || len(w.wishes) == 0 {
				return
			}
			if err == nil || first.done != nil && errors.Is(err, first.done) {
				told = true
				w.report.Changes++
				w.wishes = w.wishes[1:]
			} else if errors.Is(err, cluster.ErrLeads) {
				w.after(0, w.transfer)
			}
		})
	}
	w.after(700*time.Millisecond, func() {
		told = true
		w.insist()
	})
}

// heal ends all faults.
func (w *world) heal() {
	w.faulty = false
	w.note("the faults end")
	w.network.loses, w.network.slow = 0, calm
	clear(w.network.cut)
	for _, m := range w.machines {
		m.offset, m.slow = 0, time.Millisecond
		if m.process != nil {
			m.process.dies = 0
		} else if !m.gone {
			m.up()
		}
	}
	for waited := time.Duration(0); w.busy() && waited < time.Minute; waited += time.Second {
		w.runUntil(w.now + time.Second)
	}
}

// up starts a machine; it must not fail.
func (m *machine) up() {
	if err := m.start(); err != nil {
		m.violate(Running, "%s does not start: %v", m.record.Name, err)
		m.gone = true
	}
}

// emptyDisk is a disk on which the log of the machine is as at its first start.
func (m *machine) emptyDisk() *kv.CrashDisk {
	was := m.disk
	defer func() { m.disk = was }()
	m.disk = kv.NewCrashDisk()
	var members []cluster.Record
	for _, other := range m.machines[:m.setup.Members] {
		members = append(members, other.record)
	}
	if err := m.create(members); err != nil {
		m.violate(Running, "%s cannot be made: %v", m.record.Name, err)
		return was
	}
	return m.disk
}
