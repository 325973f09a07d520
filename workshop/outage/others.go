package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
)

// shortGap is the shortest time without an acknowledgement that is reported.
const shortGap = 500 * time.Millisecond

// othersPayers is the number of payers that send to nodes run by somebody else.
const othersPayers = 64

// accounts prints the arguments of `cairn init` that give the payers coins.
func (s settings) accounts() {
	words := []string{"--chain-id", fmt.Sprint(chainID)}
	for _, account := range newLoad(othersPayers, nil).accounts() {
		words = append(words, "--alloc", account.String()+"="+balance)
	}
	fmt.Println(strings.Join(words, " "))
}

// sendToOthers sends transfers to nodes that somebody else runs, stops and starts, until ctx ends. It prints each time
// without an acknowledgement, and fails unless one node has all acknowledged transfers at the end.
func (s settings) sendToOthers(ctx context.Context) error {
	var nodes []*member
	for url := range strings.SplitSeq(s.others, ",") {
		c, err := client.New(url, client.WithRetry(0))
		if err != nil {
			return err
		}
		defer c.Close()
		nodes = append(nodes, &member{name: url, client: c})
	}
	l := newLoad(othersPayers, func() []*member { return nodes })
	if err := l.resume(ctx, nodes); err != nil {
		return err
	}
	begun := l.count()
	sent := make(chan error, 1)
	go func() { sent <- l.run(ctx, s.rate, s.batch) }()
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	last, at := begun, time.Now()
	for running := true; running; {
		select {
		case <-ticker.C:
			now := l.count()
			if now == last {
				continue
			}
			if gap := time.Since(at); gap > shortGap {
				fmt.Printf("%s no acknowledgement for %v\n", time.Now().Format(time.TimeOnly), gap.Round(10*time.Millisecond))
			}
			last, at = now, time.Now()
		case err := <-sent:
			if err != nil {
				return err
			}
			running = false
		}
	}
	checking, cancel := context.WithTimeout(context.WithoutCancel(ctx), awaitTime)
	defer cancel()
	var errs []error
	for _, m := range nodes {
		lost, err := l.lost(checking, m)
		if err == nil {
			fmt.Printf("%s %d transfers acknowledged, %d lost\n", time.Now().Format(time.TimeOnly), l.count()-begun, lost)
			if lost > 0 {
				return fmt.Errorf("%s lacks %d acknowledged transfers", m.name, lost)
			}
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// resume continues from the nonces of the payers' accounts.
func (l *load) resume(ctx context.Context, nodes []*member) error {
	var errs []error
	for _, m := range nodes {
		failed := false
		for _, p := range l.payers {
			nonce, err := m.client.Nonce(ctx, p.account, api.Pending())
			if failed = err != nil; failed {
				errs = append(errs, err)
				break
			}
			p.acknowledged = nonce
		}
		if !failed {
			return nil
		}
	}
	return errors.Join(errs...)
}
