// Takes optional members out of a request for a provider that refuses them (decisions.md 79).

import { asBuffer } from '../../../../shared/bytes.ts'
import { writeJsonBody } from '../../../../shared/json.ts'
import { isJsonObject, type JsonObject, type JsonValue, tryParseJson } from '../../../normalized/index.ts'
import { JsonEdits, type Place } from '../json/edits.ts'
import { editBody } from '../json/spans.ts'
import type { OptionalMember } from './member-complaints.ts'

/** One member of a body that is left out, or gets another name. */
export interface MemberChange {
  member: OptionalMember
  /** Members and items on the way from the body to it. */
  place: Place
  name?: string
}

export interface ChangedBody {
  bytes: Uint8Array
  changes: MemberChange[]
}

const NEWER_LIMIT = 'max_completion_tokens'

/**
 * The body without those of the members that it has; undefined where it has none of them.
 * @param isChatWire the output limit has a second name on this wire, and gets it.
 */
export function withoutMembers(
  bytes: Uint8Array,
  members: ReadonlySet<OptionalMember>,
  isChatWire: boolean
): ChangedBody | undefined {
  const body = tryParseJson(asBuffer(bytes).toString('utf8'))
  if (!isJsonObject(body)) return undefined
  const changes = planChanges(body, members, isChatWire)
  if (changes.length === 0) return undefined
  const edits = new JsonEdits()
  for (const { place, name } of changes) {
    if (name === undefined) edits.drop(...place)
    else edits.rename(place, name)
  }
  return { bytes: editBody(bytes, body, edits) ?? writeJsonBody(edits.applyTo(body)), changes }
}

function planChanges(body: JsonObject, members: ReadonlySet<OptionalMember>, isChatWire: boolean): MemberChange[] {
  const changes: MemberChange[] = []
  for (const member of members) {
    if (member === 'max_tokens') {
      if (isChatWire && isGiven(body.max_tokens)) changes.push(renameLimit(body))
    } else for (const place of findPlaces(body, member)) changes.push({ member, place })
  }
  return changes
}

function renameLimit(body: JsonObject): MemberChange {
  const change: MemberChange = { member: 'max_tokens', place: ['max_tokens'] }
  return isGiven(body[NEWER_LIMIT]) ? change : { ...change, name: NEWER_LIMIT }
}

/** The places of a member that the body has and can do without. */
function findPlaces(body: JsonObject, member: OptionalMember): Place[] {
  const hasBoth = isGiven(body.temperature) && isGiven(body.top_p)
  switch (member) {
    case 'temperature':
    case 'top_p':
      return hasBoth ? [[member]] : []
    case 'temperature_with_top_p':
      // A temperature of 1 is what the model has without one.
      return hasBoth ? [[body.temperature === 1 ? 'temperature' : 'top_p']] : []
    case 'strict':
      return findStrict(body)
    case 'reasoning_effort': {
      const { reasoning } = body
      if (isGiven(body.reasoning_effort)) return [['reasoning_effort']]
      return isJsonObject(reasoning) && isGiven(reasoning.effort) ? [['reasoning', 'effort']] : []
    }
    case 'output_config':
    case 'effort':
      return findEffort(body, member)
    default:
      return isGiven(body[member]) ? [[member]] : []
  }
}

/** A format in `output_config` is binding, so only a refused effort is left out beside it. */
function findEffort({ output_config: config }: JsonObject, member: 'output_config' | 'effort'): Place[] {
  if (!isJsonObject(config) || !isGiven(config.effort)) return []
  const others = Object.entries(config).filter(([name, value]) => name !== 'effort' && isGiven(value))
  if (others.length === 0) return [['output_config']]
  return member === 'effort' ? [['output_config', 'effort']] : []
}

function findStrict(body: JsonObject): Place[] {
  const places: Place[] = []
  const add = (holder: JsonValue | undefined, ...place: (string | number)[]) => {
    if (isJsonObject(holder) && isGiven(holder.strict)) places.push([...place, 'strict'])
  }
  const tools = Array.isArray(body.tools) ? body.tools : []
  for (const [index, tool] of tools.entries()) {
    add(tool, 'tools', index)
    if (isJsonObject(tool)) add(tool.function, 'tools', index, 'function')
  }
  const { response_format: format, text } = body
  if (isJsonObject(format)) add(format.json_schema, 'response_format', 'json_schema')
  if (isJsonObject(text)) add(text.format, 'text', 'format')
  return places
}

function isGiven(value: JsonValue | undefined): boolean {
  return value !== undefined && value !== null
}
