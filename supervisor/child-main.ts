// The entry of a gateway that `startGateway` starts: the command itself, which also stops when the process that started it exits.

// The handler is installed before the command loads, so that an exit of the parent during the start is not missed.
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))

await import('./main.ts')
