// A sink on another machine: opened when the first records come, and again after a failure, so that an outage at the start is an outage
// like any other.
import type { TrafficRecord } from '../../shared/traffic/record.ts'
import type { SinkName } from '../../shared/traffic/sinks.ts'
import { type Sink, SinkGoneError } from './sink.ts'

export class ReopeningSink<Opened extends Sink> implements Sink {
  readonly name: SinkName
  readonly #open: () => Promise<Opened>
  #opened: Promise<Opened> | undefined

  constructor(name: SinkName, open: () => Promise<Opened>) {
    this.name = name
    this.#open = open
  }

  /** The sink, opened now if it is not. Rejects with the error of the attempt; the next call makes another one. */
  async use(): Promise<Opened> {
    this.#opened ??= this.#open()
    try {
      return await this.#opened
    } catch (error) {
      this.#opened = undefined
      throw error
    }
  }

  async write(records: readonly TrafficRecord[]): Promise<void> {
    const opened = await this.use()
    try {
      await opened.write(records)
    } catch (error) {
      if (error instanceof SinkGoneError) {
        this.#opened = undefined
        await opened.close().catch(() => undefined)
      }
      throw error
    }
  }

  async close(): Promise<void> {
    const opened = await this.#opened?.catch(() => undefined)
    await opened?.close()
  }
}
