// Package document writes the help of all commands as Markdown files, for kubectl kruise generate-docs.
package document
