// Finds the citations of the reference (`ops/reference`) in a text, and what each cites. The form of a
// citation is described in ops/reference/README.md.

/** A place of a page that a text cites: a section, the number of a decision or the id of a lesson. */
export interface Citation {
  page: string
  /** Undefined where the text names a page without a place of it. */
  place: string | undefined
  line: number
}

/** A citation in a form that cannot be followed. */
export interface UnknownForm {
  text: string
  line: number
}

export interface FoundCitations {
  citations: Citation[]
  unknownForms: UnknownForm[]
}

export const pageNames = [
  'architecture',
  'bridge',
  'completions',
  'content',
  'decisions',
  'field-lessons',
  'keys',
  'memory',
  'messages',
  'operations',
  'providers',
  'responses',
  'specification',
  'style',
  'upstream'
] as const

const PLACE = String.raw`(?:\d+(?:\.\d+)*|[A-O]\d*)(?![\w-]|\.\w)`
const SEPARATOR = `(?:, and |, | and | to | or )`
// A page name behind a slash or at the start of a link is a path, such as that of a guide of the same name.
const CITATION = new RegExp(
  String.raw`(?<![\w/.-]|\]\()(${pageNames.join('|')})\.md\b(?:,? (?:sections? )?(${PLACE}(?:${SEPARATOR}${PLACE})*))?`,
  'g'
)
const UNKNOWN_FORMS = new RegExp(
  [
    String.raw`\b(?:${pageNames.join('|')}|family) contracts?,? (?:sections? )?\d[\d.]*`,
    String.raw`\bcontract, (?:sections? |case )?\d[\d.]*`,
    String.raw`\b[Dd]ecisions?,? \d+`,
    String.raw`\b[Ff]ield lessons? [A-O]\d*`,
    String.raw`\b[Ss]pec(?:ification)?,? (?:section )?\d+(?:\.\d+)*`,
    String.raw`\b(?:design|gateway-specification)\.md\b`,
    String.raw`\.\./shared/(?:contracts|spec|design|decisions|style)\b`
  ].join('|'),
  'g'
)

/** Finds all citations of a text. A comment is read as running text, across its line breaks. */
export function findCitations(source: string): FoundCitations {
  const { text, lineAt } = joinLines(source)
  const citations = [...text.matchAll(CITATION)].flatMap((match): Citation[] => {
    const [, page = '', list = ''] = match
    const line = lineAt(match.index)
    const places = list.split(new RegExp(SEPARATOR)).filter(place => place !== '')
    return places.length === 0 ? [{ page, place: undefined, line }] : places.map(place => ({ page, place, line }))
  })
  const unknownForms = [...text.matchAll(UNKNOWN_FORMS)].map(match => ({
    text: match[0],
    line: lineAt(match.index)
  }))
  return { citations, unknownForms }
}

/** The places of a page that can be cited. */
export function readPlaces(page: string, text: string): Set<string> {
  const patterns =
    page === 'decisions'
      ? [/^(\d+)\. /gm]
      : page === 'field-lessons'
        ? [/^## ([A-O])\. /gm, /^\| ([A-O]\d+) \|/gm]
        : [/^#{2,4} (\d+(?:\.\d+)*)\.? /gm]
  return new Set(patterns.flatMap(pattern => [...text.matchAll(pattern)].map(([, place = '']) => place)))
}

/** The text with each line break, and the comment marker behind it, as one space; and the line of an offset in it. */
function joinLines(source: string): { text: string; lineAt: (offset: number) => number } {
  const starts: number[] = []
  let text = ''
  for (const line of source.split('\n')) {
    if (text !== '') text += ' '
    starts.push(text.length)
    text += line
      .replace(/^\s*(?:\/\/|\/\*\*|\*(?!\/)|#+ )?\s*/, '')
      .replaceAll('`', '')
      .trimEnd()
  }
  return { text, lineAt: offset => starts.findLastIndex(start => start <= offset) + 1 }
}
