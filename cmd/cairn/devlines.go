package main

import (
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/cairn-chain/cairn/types"
)

// mostDebugBytes are the lines of debug that are printed from one block to the next.
const mostDebugBytes = 64 << 10

// devLines prints what happens on a development chain. A closed terminal is no reason to stop.
type devLines struct {
	to   io.Writer
	json bool // each line is one of a log

	mu      sync.Mutex
	debugs  int // bytes since the last block
	leftOut int // lines since the last block
}

// block prints a line for a block, and how many lines of debug were left out until then.
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
		_, _ = fmt.Fprintf(l.to, "debug: %d more lines, which are not shown\n", l.leftOut)
	}
	l.debugs, l.leftOut = 0, 0
	when := time.Unix(int64(h.Header.Timestamp), 0).UTC().Format(time.TimeOnly)
	_, _ = fmt.Fprintf(l.to, "%s  block %-6d %s  %d tx  %d gas  base fee %d\n",
		when, h.Header.Height, h.Header.Hash(), txs, h.Header.GasUsed, h.Header.BaseFee)
}

// debug prints what a contract says, quoted: it may be any bytes.
func (l *devLines) debug(tx types.TxID, contract types.ContractID, message []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(message) > mostDebugBytes-l.debugs { // it is not even quoted
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
