package loadgen

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// subscriber is a subscriber on its own connection.
type subscriber struct {
	stalled, pending bool
	socket           *socket
	from             uint64        // first height that it should receive
	since            time.Duration // time of its subscription

	mu           sync.Mutex                 // guards the fields below, its notifications
	blocks       []time.Duration            // arrival of each height from the first on; 0 if missing
	transactions map[[32]byte]time.Duration // arrival of each transaction
	count        int64                      // number of notifications
	repeated     int64                      // duplicate blocks
	retold       int64                      // duplicate transactions
	left         bool                       // the run is over
	ended        error                      // error that ended the connection before the end of the run
}

// subscribe subscribes in one batch, so that the response precedes all notifications.
func (s *subscriber) subscribe() error {
	calls := fmt.Sprintf(
		`[{"jsonrpc":"2.0","id":1,"method":"svc_subscribe","params":["newBlocks",{"from_block":%d}]}`, s.from,
	)
	if s.pending {
		calls += `,{"jsonrpc":"2.0","id":2,"method":"svc_subscribe","params":["newPendingTransactions"]}`
	}
	if err := s.socket.write(opText, []byte(calls+"]")); err != nil {
		return err
	}
	answer, err := s.socket.message()
	if err == nil && (!bytes.HasPrefix(answer, []byte("[")) || bytes.Contains(answer, []byte(`"error":`))) {
		err = fmt.Errorf("the node answered %s", answer)
	}
	return err
}

// listen records notifications until the connection ends.
func (s *subscriber) listen(start time.Time) {
	for {
		text, err := s.socket.message()
		if err == nil {
			err = s.note(text, time.Since(start))
		}
		if err != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			if !s.left {
				s.ended = err
			}
			return
		}
	}
}

// note records the block or transaction of a notification.
func (s *subscriber) note(text []byte, at time.Duration) error {
	_, result, _ := bytes.Cut(text, []byte(`"result":`))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	if digits, ok := bytes.CutPrefix(result, []byte(`"0x`)); ok && len(digits) >= 64 {
		var hash [32]byte
		if _, err := hex.Decode(hash[:], digits[:64]); err != nil {
			return err
		}
		if _, again := s.transactions[hash]; again {
			s.retold++
			return nil
		}
		s.transactions[hash] = at
		return nil
	}
	_, digits, ok := bytes.Cut(result, []byte(`"height":`))
	end := bytes.IndexByte(digits, ',')
	if !ok || end < 0 {
		return fmt.Errorf("the received message is not a notification: %s", text)
	}
	height, err := strconv.ParseUint(string(digits[:end]), 10, 64)
	if err != nil || height < s.from || height-s.from > maxBlocks {
		return fmt.Errorf("received block %s, but the subscription begins at block %d", digits[:end], s.from)
	}
	index := int(height - s.from)
	s.blocks = append(s.blocks, make([]time.Duration, max(0, index+1-len(s.blocks)))...)
	if s.blocks[index] != 0 {
		s.repeated++
		return nil
	}
	s.blocks[index] = at
	return nil
}

// arrival returns the arrival time of a block, or 0.
func (s *subscriber) arrival(height uint64) time.Duration {
	if index := height - s.from; index < uint64(len(s.blocks)) {
		return s.blocks[index]
	}
	return 0
}

// done reports whether nothing more is expected: the subscriber has every block up to head and the given number of
// pending transactions, or its connection has ended.
func (s *subscriber) done(head uint64, transactions int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended != nil ||
		s.from+uint64(len(s.blocks)) > head && (!s.pending || int64(len(s.transactions)) >= transactions)
}
