// Package front is the node's public HTTP server. Its own loop answers the request that nearly all traffic consists of,
// a plain POST / of JSON with a Content-Length. A connection with any other request is handed over to net/http, with
// what was read of it, and stays there. Both ways check each request's preamble with the same parser ([parsePreamble]),
// ask the same function whether the client may have it answered (admit), and know the same limits and timeouts.
package front
