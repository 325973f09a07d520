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

// scheme precedes the token in the header Authorization (RFC 6750).
const scheme = "Bearer "

// Token authorizes changes, work and access to profiles.
type Token [secret.Size]byte

// ReadToken reads a token's file: 64 hex digits, readable only by its owner.
func ReadToken(file string) (Token, error) {
	t, err := secret.ReadHex(file)
	return Token(t), err
}

// String returns the token as it is sent.
func (t Token) String() string { return hex.EncodeToString(t[:]) }

// in reports whether a request carries the token. It compares digests in constant time; they have equal lengths.
func (t Token) in(h http.Header) bool {
	sent := sha256.Sum256([]byte(h.Get("Authorization")))
	want := sha256.Sum256([]byte(scheme + t.String()))
	return subtle.ConstantTimeCompare(sent[:], want[:]) == 1
}

// fromPage reports whether a browser sent the request for a web page. The page must be another site's: none is served
// here.
func fromPage(h http.Header) bool {
	if len(h.Values("Origin")) > 0 {
		return true
	}
	for _, site := range h.Values("Sec-Fetch-Site") {
		if site != "none" && site != "same-origin" { // none: a user typed the address
			return true
		}
	}
	return false
}

// guard wraps a route with the checks of the token and of the media type.
func (c Config) guard(route Route) http.HandlerFunc {
	post := strings.HasPrefix(route.Pattern, http.MethodPost+" ")
	return func(w http.ResponseWriter, r *http.Request) {
		if !route.Open && !c.Token().in(r.Header) {
			w.Header().Set("WWW-Authenticate", strings.TrimSpace(scheme))
			http.Error(w, "The admin token is required.", http.StatusUnauthorized)
			return
		}
		// PUT and DELETE have types of their own: a form on a web page can send neither.
		if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); post && (err != nil || media != JSON) {
			http.Error(w, "The request must be of type "+JSON+".", http.StatusUnsupportedMediaType)
			return
		}
		route.Serve(w, r)
	}
}
