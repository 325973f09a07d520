package operator

import (
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/cairn-chain/cairn/types"
)

// mostDebugBytes limits the debug lines that are printed between two blocks.
const mostDebugBytes = 64 << 10

// devLines prints the events of a development chain. It ignores write errors, so a closed terminal does not stop the
// node.
type devLines struct {
	to   io.Writer
	json bool // print JSON log lines

	mu      sync.Mutex
	debugs  int // bytes since the last block
	leftOut int // lines since the last block
}

// block prints a line for a block, and the number of debug lines omitted since the last one.
func (l *devLines) block(h types.SignedHeader, txs int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.json {
		log := slog.New(slog.NewJSONHandler(l.to, nil))
		log.Info("block", "height", h.Header.Height, "hash", h.Header.Hash(), "transactions", txs, "gas", h.Header.GasUsed,
			"base fee", h.Header.BaseFee, "debug lines left out", l.leftOut)
		l.debugs, l.leftOut = 0, 0
		return
	}
	if l.leftOut > 0 {
		_, _ = fmt.Fprintf(l.to, "debug: %d more lines not shown\n", l.leftOut)
	}
	l.debugs, l.leftOut = 0, 0
	when := time.UnixMilli(int64(h.Header.Timestamp)).UTC().Format(time.TimeOnly)
	_, _ = fmt.Fprintf(l.to, "%s  block %-6d %s  %d tx  %d gas  base fee %d\n",
		when, h.Header.Height, h.Header.Hash(), txs, h.Header.GasUsed, h.Header.BaseFee)
}

// debug prints a contract's debug message. The message is quoted because it may be any bytes.
func (l *devLines) debug(tx types.TxID, contract types.ContractID, message []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(message) > mostDebugBytes-l.debugs { // too long even without the quotes
		l.leftOut++
		return
	}
	line := fmt.Sprintf("debug %q  of %s in transaction %s\n", message, contract, tx)
	if len(line) > mostDebugBytes-l.debugs {
		l.leftOut++
		return
	}
	l.debugs += len(line)
	if l.json {
		slog.New(slog.NewJSONHandler(l.to, nil)).Info(
			"debug", "message", strconv.Quote(string(message)), "contract", contract, "transaction", tx,
		)
		return
	}
	_, _ = io.WriteString(l.to, line)
}
