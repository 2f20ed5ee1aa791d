// The report about one field of a body.

export type Verdict = 'exact' | 'translated' | 'ignored' | 'refused'

export interface ExplainedField {
  path: string
  verdict: Verdict
  reason: string
  /** Where the value stands in the provider's body. */
  upstream?: string
  /** Of a refused field: the code of the error, and the field that it names. */
  code?: string
  param?: string
}
