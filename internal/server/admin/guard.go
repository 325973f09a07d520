package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"mime"
	"net/http"
	"strings"

	"github.com/cairn-chain/cairn/internal/secret"
)

// JSON is the media type of requests and answers.
const JSON = "application/json"

// scheme comes before the token in the header Authorization (RFC 6750).
const scheme = "Bearer "

// Token is the credential of whoever changes something, starts work or reads profiles.
type Token [secret.Size]byte

// ReadToken reads a token's file: 64 hex digits, which only its owner may read.
func ReadToken(file string) (Token, error) {
	t, err := secret.ReadHex(file)
	return Token(t), err
}

// String is the token as it is sent.
func (t Token) String() string { return hex.EncodeToString(t[:]) }

// in tells whether a request has the token. Digests are compared, in constant time: their lengths are the same.
func (t Token) in(h http.Header) bool {
	sent := sha256.Sum256([]byte(h.Get("Authorization")))
	want := sha256.Sum256([]byte(scheme + t.String()))
	return subtle.ConstantTimeCompare(sent[:], want[:]) == 1
}

// fromPage tells whether a browser sends a request for a web page. None is served here, so it is another site's.
func fromPage(h http.Header) bool {
	if len(h.Values("Origin")) > 0 {
		return true
	}
	for _, site := range h.Values("Sec-Fetch-Site") {
		if site != "none" && site != "same-origin" { // none: a person has typed the address
			return true
		}
	}
	return false
}

// guard lets only those to a route who may use it.
func (c Config) guard(route Route) http.HandlerFunc {
	post := strings.HasPrefix(route.Pattern, http.MethodPost+" ")
	return func(w http.ResponseWriter, r *http.Request) {
		if !route.Open && !c.Token().in(r.Header) {
			w.Header().Set("WWW-Authenticate", strings.TrimSpace(scheme))
			http.Error(w, "This needs the admin token.", http.StatusUnauthorized)
			return
		}
		// PUT and DELETE have types of their own: a form on a web page sends neither.
		if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); post && (err != nil || media != JSON) {
			http.Error(w, "The request must be of type "+JSON+".", http.StatusUnsupportedMediaType)
			return
		}
		route.Serve(w, r)
	}
}
