package push

import (
	"container/heap"
	"container/list"
)

// crowd is the connections of one source.
type crowd struct {
	source string
	open   list.List // of *connection, the newest last
	index  int       // in crowds
}

// crowds are all connections by their sources. Every change takes logarithmic time at most; the server's lock guards
// them.
type crowds struct {
	bySource map[string]*crowd
	largest  []*crowd // a heap, first the one with most
	open     int
}

// add enters a connection. Where there are as many as there may be, the newest one of the source with most makes way,
// if that source keeps as many as the new one's then has; else there is no room.
func (all *crowds) add(c *connection, most int) (displaced *connection, ok bool) {
	own := all.bySource[c.request.Source]
	if own == nil {
		own = &crowd{source: c.request.Source}
	}
	if all.open >= most {
		if len(all.largest) == 0 || all.largest[0].open.Len() <= own.open.Len()+1 {
			return nil, false
		}
		displaced = all.largest[0].open.Back().Value.(*connection)
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

// remove takes a connection out, if it is in.
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
