// The stored records as the admin API asks for them: questions to the writer, with its failures as
// errors of the API (operations.md 9).
import type { Settings } from '../../shared/settings.ts'
import type { Answer, Question, QuestionName } from '../../shared/traffic/messages.ts'
import { planSinks } from '../../shared/traffic/sinks.ts'
import { GatewayError } from '../normalized/index.ts'
import type { WriterConnection } from '../traffic/writer-connection.ts'

export interface QueryStore {
  /** Rejects with `query_store_not_configured` or `query_store_unavailable`. */
  ask<Name extends QuestionName>(name: Name, question: Question<Name>): Promise<Answer<Name>>
}

/** `connection` is undefined where no writer runs. */
export function createQueryStore(settings: Settings, connection: WriterConnection | undefined): QueryStore {
  const { relational } = planSinks(settings)
  return {
    async ask(name, question) {
      if (relational === undefined) throw new GatewayError('query_store_not_configured')
      if (connection === undefined) throw new GatewayError('query_store_unavailable', { cause: 'no writer' })
      const result = await connection.ask(name, question)
      if (result.ok) return result.answer
      if (result.failure === 'query_store_not_configured') throw new GatewayError('query_store_not_configured')
      throw new GatewayError('query_store_unavailable', { cause: result.failure })
    }
  }
}
