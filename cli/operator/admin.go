package operator

import (
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/internal/server/admin"
)

// adminSettings are the settings of commands that call a node's admin address.
type adminSettings struct {
	Admin          string `setting:"admin" usage:"admin address of the node"`
	AdminTokenFile string `setting:"admin-token-file" usage:"file with the node's admin token (default: the token of the node in the home directory)"`
}

func defaultAdmin() adminSettings { return adminSettings{Admin: "http://" + defaultAdminAddr} }

// client returns a client of the admin address in the settings.
func (s adminSettings) client() admin.Client { return session.Admin(s.Admin, s.AdminTokenFile) }
