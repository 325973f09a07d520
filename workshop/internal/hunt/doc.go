// Package hunt looks for contracts that cost a node more than they pay. A candidate comes from genes: the name of a
// shape and its numbers, which print in one line and always make the same contract. Shapes are modules, sequences of
// host calls and graphs of contracts that call each other; measures say what one takes of the machine for its gas. The
// corpus keeps the worst that were found, for the tests here, `make hunt` and `make gas`.
package hunt
