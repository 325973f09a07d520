// Package front is the node's public HTTP server. Its own loop answers plain requests, which make up nearly all
// traffic: POST / with a body of JSON and a Content-Length. A connection with any other request is handed over to
// net/http, together with the bytes already read, and stays there. Both paths check each preamble with the same parser
// ([parsePreamble]), call the same function to admit a request (admit), and apply the same limits and timeouts.
package front
