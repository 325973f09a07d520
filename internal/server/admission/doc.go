// Package admission schedules work that nobody pays for on the processor: calls, views, traces, files, proofs, and the
// replays of subscriptions.
//
// A [Scheduler] gives turns. Short work and long work have separate places, so that a query of a balance never waits
// behind a replay. Every request starts as short work unless its handler asks for more ([Heavy]). When it has used up
// its slice it goes on as long work ([Yield]), a slice at a time.
//
// The order is decided by client, not by arrival, with start-time fair queueing (Goyal, Vin and Cheng, 1996). Each
// client has a virtual time, which grows by the time that its turns use. The client with the least virtual time is
// next. The queue's own, at which new clients start, grows by each client's fair share of the time used. A client that has used little is thus served at once, however many turns others wait for. While blocks are made
// or imported ([Scheduler.Reserve]), short work is limited to one core fewer than there are.
package admission
