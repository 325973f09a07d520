package tracing

import (
	"io"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/cli/show"
)

// Options says whether to trace a call, and how to show the trace.
type Options struct {
	Wanted  bool
	Sources []givenSource
	Log     io.Writer
}

// LogTable lists the events of a receipt, if any.
func LogTable(s *session.Session, t *output.Text, logs []api.Log) {
	if len(logs) == 0 {
		return
	}
	known := s.Known()
	rows := make([][]any, len(logs))
	for i, log := range logs {
		data := show.EventData(log.Address, log.EventName, log.Topics, log.Data)
		rows[i] = []any{show.OneLine(log.EventName), known.Replace(log.Address.String()), known.Replace(data)}
	}
	t.Line("")
	t.Table([]string{"Event", "Contract", "Data"}, rows)
}
