// Command game is the program of the image kruise.local/game:v1, a game server without a game, for examples and tests of probes.
//
// It serves HTTP on port 7777, also named game: /players answers how many players it has, /players?count=N with POST sets the
// number, and /elsewhere redirects to another host. With the argument idle it asks the server in the same container: it prints how
// long the server has been idle in whole minutes, or fails and prints the number of players. With play N it sets the number.
package main
