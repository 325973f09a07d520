// Package params says which parameters a chain may have, and holds the gas schedule that goes with their version.
package params
