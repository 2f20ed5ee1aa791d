// What the tables of the client faces say about the members of a body: the same rows that readers and admission apply.

import { embeddingsParameters } from '../../protocols/completions/client/schema.ts'
import { completionsMembers } from '../../protocols/completions/members.ts'
import { contentMembers } from '../../protocols/content/members.ts'
import { messagesMembers } from '../../protocols/messages/members.ts'
import { responsesMembers } from '../../protocols/responses/members.ts'
import { Members } from '../../protocols/shared/members/members.ts'
import type { Parameter } from '../../protocols/shared/members/parameters.ts'
import type { ExplainedFamily } from '../job.ts'
import { type Place, writePlace } from './paths.ts'

const tables: Readonly<Record<ExplainedFamily, Members>> = {
  openai: completionsMembers,
  responses: responsesMembers,
  anthropic: messagesMembers,
  gemini: contentMembers,
  embeddings: new Members(embeddingsParameters)
}

/** The row of a member; undefined for one without a row. */
export function findParameter(family: ExplainedFamily, place: Place): Parameter | undefined {
  return tables[family].find(writePlace(place))
}
