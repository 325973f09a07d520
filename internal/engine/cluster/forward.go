package cluster

import (
	"context"
	"errors"

	"go.etcd.io/raft/v3"

	"github.com/cairn-chain/cairn/internal/engine/mempool"
)

// forward verifies a send's transactions, and forwards those that may be valid to the leader. This protects a member
// from blame for invalid transactions of its clients.
func (m *Member) forward(s *send) {
	try := s.try
	m.env.Do(Anyone, func() Event {
		verified := m.Pool.Verify(context.Background(), s.encoded, s.source, func() bool { return false })
		return func(m *Member) error {
			if s.reply == nil || s.try != try {
				return nil
			}
			s.results = make([]mempool.Result, len(verified))
			var sent [][]byte
			var places []int // indexes in the send of the forwarded transactions
			for i, v := range verified {
				s.results[i] = mempool.Result{Tx: v.Tx, Err: v.Err}
				if v.Err == nil {
					sent, places = append(sent, s.encoded[i]), append(places, i)
					m.sends.forwarded[v.Tx.ID()] = v.Verified
				}
			}
			switch s.asked = m.leadership.soft.Lead; {
			case len(sent) == 0:
				m.endAnswered(s)
			case s.asked == raft.None || s.asked == m.self:
				s.asked = raft.None
				m.sends.requeue(s)
				m.sends.route(m)
			default:
				m.forwardToLeader(s, sent, places)
			}
			return nil
		}
	})
}

// forwardToLeader asks the leader to take transactions; places holds their indexes in the send.
func (m *Member) forwardToLeader(s *send, sent [][]byte, places []int) {
	try := s.try
	m.env.Forward(s.asked, sent, func(a Answer, err error) Event {
		return func(m *Member) error {
			if s.reply == nil || s.try != try {
				return nil
			}
			s.asked = 0
			if errors.Is(a.Refused, ErrHolds) {
				s.end(a)
				return nil
			}
			if err != nil || a.Refused != nil || len(a.Results) != len(sent) {
				m.sends.requeue(s)
				return nil
			}
			s.index = a.Index
			for i, refusal := range a.Results {
				s.results[places[i]].Err = refusal
			}
			m.endAnswered(s)
			return nil
		}
	})
}

// endAnswered ends a send whose results are complete, once this member has applied the log up to the send's index.
func (m *Member) endAnswered(s *send) {
	m.sends.behind = append(m.sends.behind, s)
	m.sends.endApplied(m)
}
