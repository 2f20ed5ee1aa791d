// The tables of ops/guides/members.md: what becomes of each member of a client's body on each wire. They are derived from the tables that
// readers and admission apply, and from what the provider faces declare.
import type { ProviderAcceptance } from '../../worker/normalized/index.ts'
import { chatCompatibleAcceptance } from '../../worker/protocols/completions/provider/acceptance.ts'
import { contentCompatibleAcceptance } from '../../worker/protocols/content/provider/acceptance.ts'
import { messagesCompatibleAcceptance } from '../../worker/protocols/messages/provider/acceptance.ts'
import { nativeV1Acceptance, nativeV2Acceptance } from '../../worker/protocols/native/acceptance.ts'
import { clientFaces } from '../../worker/protocols/registry.ts'
import { responsesCompatibleAcceptance } from '../../worker/protocols/responses/provider/acceptance.ts'
import { findWord, type Members } from '../../worker/protocols/shared/members/members.ts'

interface Wire {
  title: string
  acceptance: ProviderAcceptance
  /** The client protocol whose bodies go on as they are. */
  own?: keyof typeof clientFaces
}

const wires: readonly Wire[] = [
  { title: 'native v1', acceptance: nativeV1Acceptance },
  { title: 'native v2', acceptance: nativeV2Acceptance },
  { title: 'chat', acceptance: chatCompatibleAcceptance, own: 'completions' },
  { title: 'responses', acceptance: responsesCompatibleAcceptance, own: 'responses' },
  { title: 'messages', acceptance: messagesCompatibleAcceptance, own: 'messages' },
  { title: 'content', acceptance: contentCompatibleAcceptance, own: 'content' }
]

const titles = {
  completions: 'Chat completions',
  responses: 'Responses',
  messages: 'Messages',
  content: 'generateContent'
} as const

const PART = /(<!-- members:start -->\n)[\s\S]*(<!-- members:end -->)/

/** The guide with current tables; undefined where its markers are missing. */
export function replaceMemberTables(guide: string): string | undefined {
  if (!PART.test(guide)) return undefined
  const tables = Object.entries(clientFaces).map(([protocol, { members }]) => {
    const name = protocol as keyof typeof clientFaces
    return `### ${titles[name]}\n\n${writeTable(members, name)}\n`
  })
  return guide.replace(PART, (_all, start: string, end: string) => `${start}\n${tables.join('\n')}\n${end}`)
}

function writeTable({ rows }: Members, protocol: keyof typeof clientFaces): string {
  const head = ['Member', ...wires.map(({ title }) => title)]
  const lines = Object.entries(rows).map(([path, row]) => [
    `\`${path}\``,
    ...wires.map(({ acceptance, own }) => findWord(row, { acceptance, isOwnWire: own === protocol }))
  ])
  return [head, head.map(() => '---'), ...lines].map(cells => `| ${cells.join(' | ')} |`).join('\n')
}
