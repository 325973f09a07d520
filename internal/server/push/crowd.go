package push

import (
	"container/heap"
	"container/list"
)

// crowd holds the connections of one source.
type crowd struct {
	source string
	open   list.List // holds *connection, the newest last
	index  int       // in crowds
}

func (c *crowd) newest() *connection { return c.open.Back().Value.(*connection) }

// crowds holds all connections by source. Every operation takes at most logarithmic time. The server's lock guards it.
type crowds struct {
	bySource map[string]*crowd
	largest  []*crowd // heap, the source with most connections first
	open     int
}

// add adds a connection. If the limit is reached, the newest connection of the largest source makes way, provided that
// this source then still has at least as many as the source of c. Otherwise add returns false.
func (all *crowds) add(c *connection, most int) (displaced *connection, ok bool) {
	own := all.bySource[c.request.Source]
	if own == nil {
		own = &crowd{source: c.request.Source}
	}
	if all.open >= most {
		if len(all.largest) == 0 || all.largest[0].open.Len() <= own.open.Len()+1 {
			return nil, false
		}
		displaced = all.largest[0].newest()
		all.remove(displaced)
	}
	if own.open.Len() == 0 {
		all.bySource[own.source] = own
		heap.Push(all, own)
	}
	c.crowd, c.place = own, own.open.PushBack(c)
	heap.Fix(all, own.index)
	all.open++
	return displaced, true
}

// remove removes a connection if it is present.
func (all *crowds) remove(c *connection) {
	of := c.crowd
	if of == nil {
		return
	}
	of.open.Remove(c.place)
	c.crowd, c.place = nil, nil
	all.open--
	if of.open.Len() > 0 {
		heap.Fix(all, of.index)
		return
	}
	heap.Remove(all, of.index)
	delete(all.bySource, of.source)
}

func (all *crowds) Len() int { return len(all.largest) }

func (all *crowds) Less(i, j int) bool { return all.largest[i].open.Len() > all.largest[j].open.Len() }

func (all *crowds) Swap(i, j int) {
	all.largest[i], all.largest[j] = all.largest[j], all.largest[i]
	all.largest[i].index, all.largest[j].index = i, j
}

// Push implements heap.Interface.
func (all *crowds) Push(x any) {
	c := x.(*crowd)
	c.index = len(all.largest)
	all.largest = append(all.largest, c)
}

// Pop implements heap.Interface.
func (all *crowds) Pop() any {
	last := len(all.largest) - 1
	c := all.largest[last]
	all.largest[last], all.largest = nil, all.largest[:last]
	return c
}
