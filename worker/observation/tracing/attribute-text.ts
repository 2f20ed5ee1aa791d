import { BoundedText } from '../bounded-text.ts'
import { ContentText } from './attribute-filter.ts'

/** Text of a response that is kept for an attribute. */
export class AttributeText extends BoundedText {
  /** The text with the mark of a cut. */
  toAttribute(): ContentText {
    return new ContentText(this.toString(), this.isCut)
  }
}
