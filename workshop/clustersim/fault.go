package clustersim

import (
	"errors"
	"slices"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/cluster"
	"github.com/cairn-chain/cairn/internal/storage/kv"
)

// Bugs of the simulation. Bugs of members are planted into their code.
const (
	ExpiresByClock = "expires by the local clock"
	ReusesID       = "reuses an id with an empty disk"
)

// fault is a kind of fault, with its relative frequency.
type fault struct {
	weight int
	strike func(*simulation)
}

var faults = []fault{
	{10, func(w *simulation) { w.crashOne(w.chance(50)) }},
	{14, (*simulation).crashSoon},
	{2, (*simulation).crashAll},
	{10, (*simulation).disturb},
	{8, (*simulation).isolate},
	{6, (*simulation).cutOneWay},
	{5, (*simulation).jump},
	{5, (*simulation).slowDisk},
	{3, (*simulation).transfer},
	{3, (*simulation).replace},
	{2, (*simulation).grow},
}

// act strikes with a random fault, and schedules the next one.
func (w *simulation) act() {
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

// any returns a random running machine, or nil if there is none.
func (w *simulation) any() *machine {
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

// crashOne ends a process immediately.
func (w *simulation) crashOne(power bool) {
	if m := w.any(); m != nil {
		m.process.die(power)
		m.process.bury()
	}
}

// crashSoon ends a process at one of its next crash points.
func (w *simulation) crashSoon() {
	if m := w.any(); m != nil {
		m.process.dies, m.process.power = 1+w.random.IntN(40), w.chance(60)
	}
}

// crashAll cuts the power of all machines at once.
func (w *simulation) crashAll() {
	w.note("the power fails")
	for _, m := range w.machines {
		if m.process != nil {
			m.process.die(true)
			m.process.bury()
		}
	}
}

// comeBack restarts a machine after a while.
func (m *machine) comeBack() {
	m.after(50*time.Millisecond+m.upTo(4*time.Second), func() {
		if m.process == nil && !m.gone && !m.stubborn {
			if m.setup.Bug == ReusesID && m.chance(50) {
				m.disk = m.emptyDisk()
			}
			m.up()
		}
	})
}

// disturb makes the network lose and delay messages for a while.
func (w *simulation) disturb() {
	w.network.loses = w.random.IntN(25)
	w.network.slow = calm
	if w.chance(50) {
		w.network.slow = w.upTo(2 * time.Second)
	}
	w.note("of a hundred messages %d are lost, others take up to %v", w.network.loses, w.network.slow)
	w.after(w.upTo(4*time.Second), func() { w.network.loses, w.network.slow = 0, calm })
}

// isolate cuts some machines off from the others.
func (w *simulation) isolate() {
	n := len(w.machines)
	side := make([]bool, n)
	for range 1 + w.random.IntN((n+1)/2) {
		side[w.random.IntN(n)] = true
	}
	w.note("the network is cut in two: %v", side)
	w.cutWhere(func(from, to int) bool { return side[from] != side[to] })
}

// cutOneWay drops all messages from one machine to another.
func (w *simulation) cutOneWay() {
	from, to := w.random.IntN(len(w.machines)), w.random.IntN(len(w.machines))
	w.note("nothing goes from member %d to member %d", from, to)
	w.cutWhere(func(f, t int) bool { return f == from && t == to })
}

// cutWhere cuts the network for a while.
func (w *simulation) cutWhere(where func(from, to int) bool) {
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

// jump sets one machine's clock wrong and all others right, so that the median is right.
func (w *simulation) jump() {
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
func (w *simulation) slowDisk() {
	m := w.machines[w.random.IntN(len(w.machines))]
	m.slow = w.upTo(600 * time.Millisecond)
	w.note("a sync of %s takes %v", m.record.Name, m.slow)
	w.after(w.upTo(5*time.Second), func() { m.slow = time.Millisecond })
}

// leader returns a process that believes it is the leader, or nil if none does.
func (w *simulation) leader() *process {
	for _, m := range w.machines {
		if m.process != nil && m.process.member.Status().Leads {
			return m.process
		}
	}
	return nil
}

// transfer transfers leadership.
func (w *simulation) transfer() {
	if l := w.leader(); l != nil {
		w.note("an operator asks %s to hand leadership on", l.record.Name)
		l.step(cluster.Transfer(0, func(error) {}))
	}
}

// busy reports whether the membership is being changed.
func (w *simulation) busy() bool { return len(w.wishes) > 0 }

// replace permanently loses a machine's disk. An operator removes its member and adds another.
func (w *simulation) replace() {
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

// grow adds a member, or removes an added one.
func (w *simulation) grow() {
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
	w.wish(func(_ *process, tell func(error)) { // it may never learn of it
		m.gone = true
		if m.process != nil {
			m.process.die(true)
			m.process.bury()
		}
		tell(nil)
	}, nil)
}

// spares reports whether a machine may be lost for good: the leader knows all voters, and so does a majority without
// that machine. If a membership change is known only to a lost leader, two voters remain two.
func (w *simulation) spares(lost *machine) bool {
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

// votersOf returns the machines, except those lost for good, that are voters in a process's view.
func (w *simulation) votersOf(p *process) (voters []*machine) {
	for _, peer := range p.member.Status().Peers {
		if m := w.machineOf(peer.ID); peer.Voter && !m.gone {
			voters = append(voters, m)
		}
	}
	return voters
}

// members returns the machines that are not lost for good.
func (w *simulation) members() []*machine {
	return slices.DeleteFunc(slices.Clone(w.machines), func(m *machine) bool { return m.gone })
}

// add starts a machine and adds it to the cluster.
func (w *simulation) add() {
	m := w.newMachine(false)
	w.note("an operator adds %s", m.record.Name)
	if err := m.create(nil); err != nil {
		w.violate(Running, "%s cannot be made: %v", m.record.Name, err)
		return
	}
	m.up()
	w.wish(func(l *process, tell func(error)) { l.step(cluster.Add(m.record, tell)) }, cluster.ErrMemberExists)
}

// wish is an operator's request to the leader, repeated until done. The error done means that the request has been
// carried out already.
type wish struct {
	ask  func(l *process, tell func(error))
	done error
}

// wish adds a request after the earlier ones.
func (w *simulation) wish(ask func(l *process, tell func(error)), done error) {
	w.wishes = append(w.wishes, wish{ask, done})
	if len(w.wishes) == 1 {
		w.insist()
	}
}

// insist sends the first request to the leader, and repeats it after a while.
func (w *simulation) insist() {
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
func (w *simulation) heal() {
	w.faulty = false
	w.note("the faults end")
	w.network.loses, w.network.slow = 0, calm
	clear(w.network.cut)
	for _, m := range w.machines {
		m.offset, m.slow = 0, time.Millisecond
		if m.newer = m.setup.Upgrade > 0; m.process != nil {
			if m.process.dies = 0; m.newer && !m.process.newer {
				w.restart(m)
			}
		} else if !m.gone {
			m.up()
		}
	}
	for waited := time.Duration(0); w.busy() && waited < time.Minute; waited += time.Second {
		w.runUntil(w.now + time.Second)
	}
}

// up starts a machine, which must not fail.
func (m *machine) up() {
	if err := m.start(); err != nil {
		m.violate(Running, "%s does not start: %v", m.record.Name, err)
		m.gone = true
	}
}

// emptyDisk returns a disk with the machine's log as at its first start.
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
