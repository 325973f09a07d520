// Package params defines the parameters that a chain may have and the gas schedule of each protocol version.
package params
