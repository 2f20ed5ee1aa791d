// Where this process hands connections to the workers, node:cluster forgets a connection whose worker exits before it has acknowledged it:
// the connection stays open without an owner, and its client waits forever. Node has no public interface for them, so this reads the
// cluster's own messages; a message of another form is passed on and not tracked.
import type { ChildProcess } from 'node:child_process'

interface Closable {
  close(): void
}

/** Closes the connections that were handed to a process and not acknowledged when it exits; their clients can then connect again. */
export function closeLostConnections(child: ChildProcess): void {
  const unacknowledged = new Map<number, Closable>()
  const send = child.send.bind(child) as (...values: unknown[]) => boolean
  child.send = (...values: unknown[]): boolean => {
    const [message, handle] = values
    const handover = readHandover(message)
    if (handover !== undefined && isClosable(handle)) unacknowledged.set(handover, handle)
    return send(...values)
  }
  child.on('internalMessage', (message: unknown) => {
    const acknowledged = readNumber(message, 'ack')
    if (acknowledged !== undefined) unacknowledged.delete(acknowledged)
  })

  function closeAll(): void {
    for (const connection of unacknowledged.values()) connection.close()
    unacknowledged.clear()
  }
  // After the channel has closed no acknowledgement follows; a handover may still fail until the exit.
  child.once('disconnect', closeAll)
  child.once('exit', closeAll)
}

/** The number of a message that hands over a connection. */
function readHandover(message: unknown): number | undefined {
  const isHandover = typeof message === 'object' && message !== null && 'act' in message && message.act === 'newconn'
  return isHandover ? readNumber(message, 'seq') : undefined
}

function readNumber(message: unknown, member: 'ack' | 'seq'): number | undefined {
  if (typeof message !== 'object' || message === null || !(member in message)) return undefined
  const value: unknown = (message as Record<string, unknown>)[member]
  return typeof value === 'number' ? value : undefined
}

function isClosable(handle: unknown): handle is Closable {
  return typeof handle === 'object' && handle !== null && 'close' in handle && typeof handle.close === 'function'
}
