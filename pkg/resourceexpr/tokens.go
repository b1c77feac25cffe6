package resourceexpr

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// token is one word of an expression.
type token struct {
	// text is the word as it was written: a sign, a name, or a value.
	text string
	// value is set for numbers, percentages and quantities.
	value *big.Rat
	// quantity says that the value has a suffix of a quantity.
	quantity bool
}

// tokenize splits an expression into words. Spaces between words mean nothing. The error names the first word that is none.
func tokenize(text string) ([]token, error) {
	var tokens []token
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimSpace(rest) {
		word, err := firstToken(rest)
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, word)
		rest = rest[len(word.text):]
	}
	return tokens, nil
}

// firstToken returns the first word of a text that is not empty and does not begin with a space. A number ends with a percent
// sign, with a suffix, or at the first other character.
func firstToken(rest string) (token, error) {
	digits := len(rest) - len(strings.TrimLeft(rest, "0123456789."))
	if digits == 0 {
		name := len(rest) - len(strings.TrimLeftFunc(rest, isLetter))
		if name > 0 {
			return token{text: rest[:name]}, nil
		}
		if strings.ContainsRune("+-*/(),", rune(rest[0])) {
			return token{text: rest[:1]}, nil
		}
		return token{}, fmt.Errorf("%q is not part of an expression", firstRune(rest))
	}
	power := exponent.FindString(rest[digits:])
	if len(strings.TrimLeft(power, "eE+-0")) > maxExponent {
		return token{}, fmt.Errorf("the exponent of %q is too large", rest[:digits+len(power)])
	}
	digits += len(power)
	number, ok := new(big.Rat).SetString(rest[:digits])
	if !ok {
		return token{}, fmt.Errorf("%q is not a number", rest[:digits])
	}
	// A percentage is a plain number: 50% is 0.5.
	if strings.HasPrefix(rest[digits:], "%") {
		return token{text: rest[:digits+1], value: number.Quo(number, big.NewRat(100, 1))}, nil
	}
	suffix := len(rest[digits:]) - len(strings.TrimLeftFunc(rest[digits:], isLetter))
	if suffix == 0 {
		return token{text: rest[:digits], value: number}, nil
	}
	word := rest[:digits+suffix]
	if !suffixes[rest[digits:digits+suffix]] {
		return token{}, fmt.Errorf("%q is neither a number nor a quantity; use one of the suffixes m, k, M, G, T, P, Ki, Mi, Gi, Ti, Pi", word)
	}
	quantity, err := resource.ParseQuantity(word)
	if err != nil {
		return token{}, fmt.Errorf("read quantity %q: %w", word, err)
	}
	return token{text: word, value: rational(quantity), quantity: true}, nil
}

// exponent is the power of ten after the digits of a number: 1.5e3 is 1500. maxExponent is the number of its digits, so that values
// stay short.
var exponent = regexp.MustCompile(`^[eE][-+]?[0-9]+`)

const maxExponent = 2

// suffixes are those of quantities. Others that Kubernetes knows are not allowed.
var suffixes = map[string]bool{
	"m": true, "k": true, "M": true, "G": true, "T": true, "P": true, "Ki": true, "Mi": true, "Gi": true, "Ti": true, "Pi": true,
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

// firstRune returns the first character of a text, which may have several bytes.
func firstRune(text string) string {
	for _, r := range text {
		return string(r)
	}
	return ""
}

// rational returns the exact value of a quantity, which is a whole number with a decimal scale.
func rational(quantity resource.Quantity) *big.Rat {
	decimal := quantity.AsDec()
	value := new(big.Rat).SetInt(decimal.UnscaledBig())
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(abs(int(decimal.Scale())))), nil)
	if decimal.Scale() > 0 {
		return value.Quo(value, new(big.Rat).SetInt(power))
	}
	return value.Mul(value, new(big.Rat).SetInt(power))
}

func abs(value int) int { return max(value, -value) }
