// Package admission decides when work that nobody pays for may use the processor: calls, views, traces, files, proofs,
// and what subscriptions replay.
//
// A [Scheduler] gives turns. Short work and long work have places of their own, so that a balance never waits behind a
// replay. Whatever a request is, it begins as short work, unless its handler knows better ([Heavy]). Once it has used
// its slice it goes on as long work ([Yield]), a slice at a time.
//
// Who is next is decided by client and not by arrival: start-time fair queueing (Goyal, Vin and Cheng, 1996). Each
// client has a virtual time, which grows by the processor time that its turns took. The client with the least is next.
// One that has used little is served at once, however many turns others wait for. While blocks are made or imported
// ([Scheduler.Reserve]), free work has one core less than there are.
package admission
