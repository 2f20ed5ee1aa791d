// Waits for a program that says in its output when it can be used.
import { createInterface } from 'node:readline'

/** Resolves at a line that matches. Reads on afterwards, so that the program never waits for a full pipe. */
export function waitForLine(output: NodeJS.ReadableStream, ready: RegExp, program: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const lines: string[] = []
  createInterface({ input: output })
    .on('line', line => {
      if (ready.test(line)) resolve()
      lines.push(line)
    })
    .on('close', () => reject(new Error(`${program} did not start: ${lines.join('\n').slice(-2000)}`)))
  return promise
}
