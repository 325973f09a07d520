package main

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// Names and addresses of the network. The bridge is in this program's namespace, which has the first address.
const (
	bridge     = "cairnbr0"
	subnet     = "10.77.0."
	ownAddress = subnet + "1"
)

// network is a bridge with a namespace for each member.
type network struct{ names []string }

func namespaceOf(number int) string { return fmt.Sprintf("cairn-outage-%d", number) }
func addressOf(number int) string   { return fmt.Sprintf("%s%d", subnet, number+10) }
func vethOf(number int) string      { return fmt.Sprintf("cairnve%d", number) }

// ip runs ip(8).
func ip(args ...string) error {
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w, %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// newNetwork creates the bridge.
func newNetwork() (*network, error) {
	n := new(network)
	return n, inOrder(
		[]string{"link", "add", bridge, "type", "bridge"}, []string{"addr", "add", ownAddress + "/24", "dev", bridge},
		[]string{"link", "set", bridge, "up"},
	)
}

func inOrder(commands ...[]string) error {
	for _, c := range commands {
		if err := ip(c...); err != nil {
			return err
		}
	}
	return nil
}

// add creates a numbered namespace.
func (n *network) add(number int) error {
	name, veth := namespaceOf(number), vethOf(number)
	if err := ip("netns", "add", name); err != nil {
		return err
	}
	n.names = append(n.names, name)
	return inOrder(
		[]string{"link", "add", veth, "type", "veth", "peer", "name", "eth0", "netns", name},
		[]string{"link", "set", veth, "master", bridge, "up"},
		[]string{"-n", name, "addr", "add", addressOf(number) + "/24", "dev", "eth0"},
		[]string{"-n", name, "link", "set", "eth0", "up"}, []string{"-n", name, "link", "set", "lo", "up"},
	)
}

// remove removes the bridge and the namespaces, in which nothing may be running.
func (n *network) remove() (err error) {
	for _, name := range n.names {
		err = errors.Join(err, ip("netns", "del", name)) // this also removes its link
	}
	return errors.Join(err, ip("link", "del", bridge))
}

// cut disconnects a namespace from all others, and heal reconnects it.
func cut(number int) error  { return ip("link", "set", vethOf(number), "down") }
func heal(number int) error { return ip("link", "set", vethOf(number), "up") }

// mute drops all packets from one namespace to another, a cut in one direction. unmute ends that.
func mute(from, to int) error {
	return ip("-n", namespaceOf(from), "route", "add", "blackhole", addressOf(to)+"/32")
}

func unmute(from, to int) error {
	return ip("-n", namespaceOf(from), "route", "del", "blackhole", addressOf(to)+"/32")
}
