package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
)

// The node's limits that the attacks reach, from docs/settings.md and docs/applications.md.
const (
	maxBody  = 5 << 20
	maxBatch = 1000
)

// Outcomes of invalid calls.
const (
	badJSON       = "-32700 bad_json"
	badUTF8       = "-32700 bad_utf8"
	tooDeep       = "-32700 too_deep"
	noMethod      = "-32601"
	malformed     = "-32602 malformed"
	badAccount    = "-32602 bad_account"
	notAnObject   = "-32600 not_an_object"
	tooManyCalls  = "-32040 batch_size"
	tooLongAnswer = "-32040 response_size"
	timeUp        = "-32040 time"
	// The node's refusals when its memory for requests is used up, before it reads a body or while a response grows.
	busyBefore = "HTTP 503"
	busyAfter  = "-32040 busy"
)

// orBusy adds these refusals to the correct outcomes of requests that take memory.
func orBusy(requests []request) []request {
	for i := range requests {
		for j := range requests[i].wants {
			requests[i].wants[j] = append(requests[i].wants[j], busyBefore, busyAfter)
		}
	}
	return requests
}

// malformedCalls returns bodies that are not JSON, not calls, or empty calls.
func malformedCalls() []request {
	text := func(body, right string) request { return post([]byte(body), right) }
	return []request{
		text("", badJSON),
		text("hello", badJSON),
		text("{", badJSON),
		text(`{"jsonrpc":"2.0","id":1,"method":"svc_blockNumber","params":[`, badJSON),
		text(`{"jsonrpc":"2.0","id":1,"method":"svc_blockNumber"} x`, badJSON),
		text(`{"jsonrpc":"2.0","id":1,"method":'svc_blockNumber'}`, badJSON),
		text(`{"jsonrpc":"2.0","id":01,"method":"svc_blockNumber"}`, badJSON),
		text("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\"}", badUTF8),
		text("1", notAnObject),
		text(`"svc_blockNumber"`, notAnObject),
		text(`{"id":1,"method":"svc_blockNumber"}`, "-32600 bad_version"),
		text(`{"jsonrpc":"2.0","id":{},"method":"svc_blockNumber"}`, "-32600 bad_id"),
		text(`{"jsonrpc":"2.0","id":1,"method":7}`, "-32600 bad_method"),
		text(`{"jsonrpc":"2.0","id":1,"id":2,"method":"svc_blockNumber"}`, "-32600 duplicate_member"),
		text(`{"jsonrpc":"2.0","id":1,"method":"svc_blockNumber","params":7}`, "-32600 bad_params"),
		orBusy([]request{text(`{"jsonrpc":"2.0","id":1,"method":"svc_`+strings.Repeat("x", 100_000)+`"}`, noMethod)})[0],
		text(`{"jsonrpc":"2.0","id":1,"method":"svc_getBalance"}`, "-32602 missing"),
		text(`{"jsonrpc":"2.0","id":1,"method":"svc_getBalance","params":["nobody"]}`, badAccount),
		text(`{"jsonrpc":"2.0","id":1,"method":"svc_getBlocks","params":[-1]}`, "-32602 wrong_type"),
		text(`{"jsonrpc":"2.0","id":1,"method":"svc_getBlockByNumber","params":["0xffffffffffffffffffff"]}`, malformed),
	}
}

// deepNesting returns bodies of nested brackets.
func deepNesting() []request {
	const half = maxBody / 2
	inParams := func(opening, closing string) []byte {
		return []byte(`{"jsonrpc":"2.0","id":1,"method":"svc_getBalance","params":` + opening + closing + `}`)
	}
	return orBusy([]request{
		post(bytes.Repeat([]byte("["), half), tooDeep),
		post(append(bytes.Repeat([]byte("["), half), bytes.Repeat([]byte("]"), half)...), tooDeep),
		post(bytes.Repeat([]byte(`{"a":`), half/5), tooDeep),
		post(inParams(strings.Repeat("[", half), strings.Repeat("]", half-100)), tooDeep),
		post(inParams(strings.Repeat(`[{"a":`, 1000), "1"+strings.Repeat("}]", 1000)), tooDeep),
		post(inParams(strings.Repeat("[", 65), strings.Repeat("]", 65)), tooDeep),
	})
}

// malformedHTTP returns invalid requests and requests for unknown paths. A server may close the connection if it cannot
// determine a request's end.
func malformedHTTP() []request {
	call := `{"jsonrpc":"2.0","id":1,"method":"svc_blockNumber"}`
	head := func(text, right string) request { return request{wire: []byte(text), wants: [][]string{{right}}} }
	const fields = "Host: 127.0.0.1\r\nContent-Type: application/json\r\n"
	length := fmt.Sprintf("Content-Length: %d\r\n", len(call))
	return []request{
		head("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", "HTTP 400"), // TLS on a plain port
		head("hello\r\n\r\n", "HTTP 400"),
		head("POST / HTTP/1.1\n"+fields+length+"\r\n"+call, "HTTP 400"), // a bare line feed
		head("POST  / HTTP/1.1\r\n"+fields+length+"\r\n"+call, "HTTP 400"),
		head("POST / HTTP/1.1\r\n"+fields+length+length+"\r\n"+call, "HTTP 400"),                            // two lengths
		head("POST / HTTP/1.1\r\n"+fields+length+"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "HTTP 400"), // smuggling
		// a space before the colon
		head("POST / HTTP/1.1\r\n"+fields+"Content-Length : 2\r\n\r\n{}", "HTTP 400"),
		head("POST / HTTP/1.1\r\n"+fields+"X: 1\r\n folded\r\n"+length+"\r\n"+call, "HTTP 400"), // a folded line
		head("POST / HTTP/1.1\r\n"+fields+"Content-Length: -1\r\n\r\n", "HTTP 400"),
		head("POST / HTTP/1.1\r\n"+fields+"Content-Length: 99999999999999999999\r\n\r\n", "HTTP 400"),
		head("POST / HTTP/1.1\r\n"+fields+"X: "+strings.Repeat("x", 17<<10)+"\r\n\r\n", "HTTP 431"),
		head("POST / HTTP/1.1\r\n"+fields+strings.Repeat("X: 1\r\n", 200)+"\r\n", "HTTP 431"),
		head("POST / HTTP/1.1\r\nContent-Type: application/json\r\n"+length+"\r\n"+call, "HTTP 400"), // no Host
		head("POST / HTTP/1.1\r\nHost: evil.example\r\nContent-Type: application/json\r\n"+length+"\r\n"+call, "HTTP 403"),
		head("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/plain\r\n"+length+"\r\n"+call, "HTTP 415"),
		head("PUT / HTTP/1.1\r\n"+fields+length+"\r\n"+call, "HTTP 405"),
		head("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "HTTP 405"),
	}
}

// hugeBodies returns bodies at and above the size limit, plain and compressed.
func hugeBodies() []request {
	const tooLarge, unreadable = "HTTP 413", "HTTP 400"
	spaces := bytes.Repeat([]byte(" "), maxBody)
	argument := bytes.Repeat([]byte("a"), maxBody-100)
	call := append([]byte(`{"jsonrpc":"2.0","id":1,"method":"svc_getBalance","params":["`), append(argument, `"]}`...)...)
	bomb := zipped(bytes.Repeat([]byte(" "), 64<<20))
	over := fmt.Appendf(
		nil, "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		maxBody+1, spaces,
	)
	chunked := []byte(
		"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
	)
	for range maxBody>>16 + 1 {
		chunked = fmt.Appendf(chunked, "10000\r\n%s\r\n", spaces[:1<<16])
	}
	return orBusy([]request{
		post(spaces, badJSON),
		post(call, badAccount),
		post(bytes.Repeat([]byte(`"`), maxBody), badJSON),
		{wire: over, wants: [][]string{{tooLarge}}},
		{wire: chunked, wants: [][]string{{tooLarge}}},
		postWith("Content-Encoding: gzip\r\n", bomb, tooLarge),
		postWith("Content-Encoding: gzip\r\n", zipped(spaces), badJSON),
		postWith("Content-Encoding: gzip\r\n", bomb[:len(bomb)/2], tooLarge),
		postWith("Content-Encoding: gzip\r\n", []byte("not compressed"), unreadable),
		postWith("Content-Encoding: br\r\n", bomb, "HTTP 415"),
	})
}

func zipped(plain []byte) []byte {
	var to bytes.Buffer
	w := gzip.NewWriter(&to)
	_, err := w.Write(plain)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic("flood: a buffer refuses bytes: " + err.Error())
	}
	return to.Bytes()
}

// hugeBatches returns batches of too many calls, of invalid calls, and of calls with the longest responses.
func hugeBatches() []request {
	call := func(method, params string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"%s","params":%s}`, method, params)
	}
	return orBusy([]request{
		post([]byte("[]"), "-32600 empty_batch"),
		batch(call("svc_blockNumber", "[]"), maxBatch+1, tooManyCalls),
		batch("{}", maxBody/3-2, tooManyCalls),
		batch("1", maxBody/2-2, tooManyCalls),
		batch("1", maxBatch, notAnObject),
		batch("{}", maxBatch, "-32600 bad_version"),
		batch(call("svc_nothing", "[]"), maxBatch, noMethod),
		batch(call("svc_getGenesis", "[]"), maxBatch, okay, tooLongAnswer, timeUp),
		batch(call("svc_getBlocks", `[{"from_height":0,"to_height":256}]`), maxBatch, okay, tooLongAnswer, timeUp),
		batch(call("svc_getFeeHistory", "[1024]"), maxBatch, okay, tooLongAnswer, timeUp),
		batch(call("svc_listRecentTransactions", "[1000]"), maxBatch, okay, tooLongAnswer, timeUp),
	})
}

// batch returns a batch of one repeated call.
func batch(call string, count int, right ...string) request {
	return post([]byte("["+strings.Repeat(call+",", count-1)+call+"]"), right...)
}
